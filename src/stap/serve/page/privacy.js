// What is kept, where, and how to take it along or delete it.
import { deleteEverything } from "./api.js";
import { confirmed } from "./dialogs.js";
import { byId, h } from "./dom.js";
import { count, datedDay, times, wallHere } from "./words.js";

export function privacy(person, deleted) {
  const place = byId("privacy");

  async function remove(question, work) {
    if (!(await confirmed(question))) return;
    try {
      await work();
      await deleted();
    } catch (refusal) {
      person.failed(refusal);
    }
  }

  return {
    update(users, status) {
      const api = person.api();
      const known = users.find((each) => each.user === api.user);
      const several = users.length > 1;
      const kept = known?.events
        ? `${count(known.events)} events of ${times(known.apps, "app")}, from ${datedDay(wallHere(Date.parse(known.first)))} to ${datedDay(wallHere(Date.parse(known.last)))}.`
        : "Nothing is kept yet.";
      place.replaceChildren(
        h("p", {}, "Everything stays on this machine. Nothing is sent anywhere."),
        h("p", {}, kept, known?.events && status?.folder ? [" It lies in ", h("code", {}, status.folder), "."] : null),
        h("div", { class: "answers" },
          known?.events ? h("a", { class: "button", href: api.exportAddress, download: `stap-${api.user}.jsonl` }, "Export everything") : null,
          several && known
            ? h("button", { type: "button", class: "grave", onclick: () => remove({ title: `Delete ${api.user}?`, text: `All ${count(known.events)} events of ${api.user} and what was learned from them are deleted from this machine. This cannot be undone.`, action: `Delete ${api.user}`, typed: "delete" }, () => api.delete()) }, `Delete ${api.user}…`)
            : null,
          users.length
            ? h("button", { type: "button", class: "grave", onclick: () => remove({ title: "Delete everything?", text: `${several ? `All ${users.length} people and devices, their events` : "All events"} and everything learned from them are deleted from this machine. This cannot be undone.`, action: "Delete everything", typed: "delete" }, deleteEverything) }, "Delete everything…")
            : null,
        ),
      );
    },
  };
}
