// All apps, most used first: find one, hide it, forget it.
import { byId, h } from "./dom.js";
import { count, duration, initial, times } from "./words.js";

const FEW = 8;

export function apps({ open, hide, forget }) {
  const [place, find] = [byId("app-list"), byId("find")];
  const list = h("ul", { class: "apps" });
  const found = h("p", { class: "aural", role: "status" });
  const more = h("button", {
    type: "button",
    class: "quiet more",
    hidden: true,
    onclick: () => {
      all = true;
      show();
      list.querySelectorAll(".open")[FEW]?.focus();
    },
  });
  place.append(list, found, more);
  let known = [];
  let all = false;
  const leaving = new Set(); // being forgotten: with a long history that takes a while

  function show() {
    const wanted = find.value.trim().toLocaleLowerCase();
    const matching = wanted ? known.filter((each) => each.app.toLocaleLowerCase().includes(wanted)) : known;
    const shown = all || wanted ? matching : matching.slice(0, FEW);
    const held = document.activeElement?.closest?.(".apps li")?.dataset.app; // who refreshes must not lose their place
    const part = document.activeElement?.className;
    list.replaceChildren(...shown.map(line));
    if (held !== undefined)
      [...list.children]
        .find((each) => each.dataset.app === held)
        ?.querySelector(`.${part.split(" ")[0]}`)
        ?.focus();
    more.hidden = shown.length === matching.length;
    more.textContent = `Show all ${count(matching.length)} apps`;
    found.textContent = wanted ? `${times(matching.length, "app")} found` : "";
    list.classList.toggle("all", shown.length > FEW);
    list.classList.toggle("nobody", Boolean(wanted) && !matching.length);
  }

  function line({ app, usages, minutes, hidden }) {
    const leaves = leaving.has(app);
    const change = (work) => (leaves ? { "aria-disabled": "true" } : { onclick: work }); // in focus it stays in focus
    return h(
      "li",
      { "data-app": app, class: hidden ? "hidden" : undefined },
      h("span", { class: "tile small", "aria-hidden": "true" }, initial(app)),
      h("button", { type: "button", class: "open", onclick: () => open(app) }, app),
      h("span", { class: "amount" }, leaves ? "Being forgotten" : `${count(usages)} × · ${duration(minutes)}`),
      h(
        "button",
        {
          type: "button",
          class: "toggle quiet",
          "aria-label": `${hidden ? "Show" : "Hide"} ${app}`,
          ...change(() => hide(app, !hidden)),
        },
        hidden ? "Show" : "Hide",
      ),
      h(
        "button",
        { type: "button", class: "drop-it quiet", "aria-label": `Forget ${app}`, ...change(() => forget(app)) },
        "Forget",
      ),
    );
  }

  find.addEventListener("input", show);
  return {
    update(statistics) {
      known = statistics.apps;
      show();
    },
    /** Its line says that an app is being forgotten, until that is done. */
    async leaves(app, done) {
      leaving.add(app);
      show();
      found.textContent = `${app} is being forgotten`;
      await done;
      leaving.delete(app);
      show();
    },
    about: (app) => known.find((each) => each.app === app),
  };
}
