// One dialog at a time: everything about an app, or a question that must not be answered by accident.
import { byId, h } from "./dom.js";
import { duration, times } from "./words.js";

const dialog = byId("dialog");
const titled = (text) => h("h2", { id: "dialog-title" }, text);
const closing = (text = "Close") => h("button", { type: "button", onclick: () => dialog.close() }, text);
dialog.addEventListener("click", (event) => event.target === dialog && dialog.close()); // beside it

/** Why this app, how much it is used; hide it, or forget it. `known` is its line of the statistics, if there is one. */
export function aboutApp(app, { known, why, hide, forget }) {
  const reasons = h("ul", { class: "reasons" }, h("li", {}, "Looking for reasons"));
  const hidden = known?.hidden ?? false;
  dialog.replaceChildren(
    titled(app),
    h(
      "p",
      { class: "aside" },
      known ? `${times(known.usages, "launch", "launches")}, ${duration(known.minutes)} in all` : "",
    ),
    h("h3", {}, "Why it is shown"),
    reasons,
    h(
      "div",
      { class: "answers" },
      h(
        "button",
        {
          type: "button",
          onclick: () => {
            dialog.close();
            hide(!hidden);
          },
        },
        hidden ? "Show again" : "Hide",
      ),
      h(
        "button",
        {
          type: "button",
          class: "grave",
          onclick: () => {
            dialog.close();
            forget();
          },
        },
        "Forget…",
      ),
      closing(),
    ),
  );
  dialog.showModal();
  const tell = (sentences) => reasons.replaceChildren(...sentences.map((sentence) => h("li", {}, sentence)));
  why().then(
    (answer) =>
      tell(
        answer.reasons.length
          ? answer.reasons.map((each) => each.sentence ?? String(each))
          : ["Nothing special speaks for it."],
      ),
    (refusal) => tell([refusal.why]),
  );
}

/** Asks before something that cannot be undone; `typed` is a word to type first. */
export function confirmed({ title, text, action, typed }) {
  return new Promise((resolve) => {
    let answer = false;
    const yes = h("button", { type: "submit", class: "grave full", disabled: Boolean(typed) }, action);
    const word =
      typed &&
      h("input", {
        type: "text",
        autocomplete: "off",
        autocapitalize: "none",
        spellcheck: "false",
        oninput: () => {
          yes.disabled = word.value.trim().toLowerCase() !== typed;
        },
      });
    const form = h(
      "form",
      {
        method: "dialog",
        onsubmit: () => {
          answer = true;
        },
      },
      typed ? h("label", { class: "typed" }, `Type “${typed}” to go on`, word) : null,
      h("div", { class: "answers" }, closing("Cancel"), yes),
    );
    dialog.replaceChildren(titled(title), h("p", {}, text), form);
    dialog.addEventListener("close", () => resolve(answer), { once: true });
    dialog.showModal();
    (word || form.querySelector("button")).focus();
  });
}

export const forgetting = (app, known) => ({
  title: `Forget ${app}?`,
  text:
    `Its ${known ? times(known.usages, "launch", "launches") : "launches"} and what was learned from them ` +
    "are deleted from this machine. This cannot be undone.",
  action: "Forget it",
});
