// Elements without markup: text goes in as text, so an app's name can never become part of the page.

export const byId = (id) => document.getElementById(id);

/** An HTML element: h("p", { class: "below", onclick }, "text", child). */
export const h = (tag, attributes, ...children) => build(document.createElement(tag), attributes, children);

/** An SVG element, likewise. */
export const svg = (tag, attributes, ...children) =>
  build(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** At most one call in so many milliseconds, and always one after the last request; `.now()` does not wait. */
export function calmly(milliseconds, work) {
  let waiting = 0;
  let last = -Infinity;
  const run = () => {
    clearTimeout(waiting);
    waiting = 0;
    last = performance.now();
    return work();
  };
  const calm = () => {
    waiting ||= setTimeout(run, Math.max(0, last + milliseconds - performance.now()));
  };
  return Object.assign(calm, { now: run });
}

/** Draws now, and again whenever the element's width changes: charts keep their text at one size. */
export function drawnToFit(element, draw) {
  let width = 0;
  const fit = () => {
    const now = Math.floor(element.clientWidth);
    if (!now || now === width) return;
    width = now;
    draw(width);
  };
  new ResizeObserver(fit).observe(element);
  return () => {
    width = 0;
    fit();
  };
}
