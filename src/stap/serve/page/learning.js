// How far a long history is learned that nobody has asked about yet: said once, then shown.
import { byId, h } from "./dom.js";
import { count } from "./words.js";

export function howFar() {
  const place = byId("learning");
  const bar = h("progress", { max: 1, "aria-label": "How far your history is learned" });
  const events = h("span", { class: "aside", "aria-hidden": "true" });

  return {
    /** `why` is what the server says: so many of so many events. */
    show(why) {
      const [done, whole] = (why.match(/\d[\d,]*/g) ?? []).map((each) => Number(each.replaceAll(",", "")));
      if (whole) {
        bar.value = done / whole;
        events.textContent = `${count(done)} of ${count(whole)} events`;
      }
      if (!place.hidden) return; // a screen reader is not told again
      const once = "The first time this takes a while. It is kept, so it will not happen again.";
      place.replaceChildren(h("strong", {}, "Your history is being learned."), ` ${once}`, bar, events);
      place.hidden = false;
    },
    over() {
      place.hidden = true;
    },
  };
}
