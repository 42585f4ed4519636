// A model of one's own: what it gained, in plain words, and the way back.
import { byId, h } from "./dom.js";
import { count } from "./words.js";

const share = (percent) => `${percent.toFixed(1)} %`;

export function adaptation(person) {
  const place = byId("adaptation");
  let shown = "";

  async function update() {
    const api = person.api();
    const told = await api.adaptation();
    const { title, text, action, work } = words(told, api);
    if (text === shown) return; // who has the button in focus keeps it
    shown = text;
    const press = async () => {
      try {
        await work();
        await update();
      } catch (refusal) {
        person.failed(refusal);
      }
    };
    place.replaceChildren(
      h("h3", {}, title),
      h("p", {}, text),
      action ? h("p", {}, h("button", { type: "button", onclick: press }, action)) : "",
    );
  }
  return { update: () => update().catch(() => {}) };
}

function words(told, api) {
  if (told.adapted)
    return {
      title: "Adapted to you",
      text: gain(told),
      action: "Go back to the shared model",
      work: api.goBack,
    };
  if (told.declined)
    return {
      title: "Not adapted to you",
      text: "You went back to the model that everybody shares, and it stays that way.",
      action: "Let it adapt again",
      work: api.adaptAgain,
    };
  if (!told.on)
    return { title: "Not adapted to you", text: "The model that everybody shares learns from what you do as it goes." };
  return {
    title: "Not adapted to you",
    text: told.tried
      ? "A model of your own was tried and was no better, so the one that everybody shares goes on."
      : "After some 2,000 launches, at an idle time, a model of your own is tried, and used only if it proves better.",
  };
}

/** What was held back decided: say how much, and never more than was measured. */
function gain({ before, after, tail }) {
  const learned = "A model of your own answers, made from your history on this machine.";
  if (!Number.isFinite(before) || !Number.isFinite(after) || !tail) return learned;
  const seen = `On your last ${count(tail)} launches, which it had not seen, the first guess was right`;
  return after > before
    ? `${learned} ${seen} ${share(after)} of the time, instead of ${share(before)}.`
    : `${learned} ${seen} as often as before, ${share(after)} of the time, and its probabilities were closer.`;
}
