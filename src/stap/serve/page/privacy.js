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

  const gone = "are deleted from this machine. This cannot be undone.";
  const deletePerson = (user, events) =>
    remove(
      {
        title: `Delete ${user}?`,
        text: `All ${count(events)} events of ${user} and what was learned from them ${gone}`,
        action: `Delete ${user}`,
        typed: "delete",
      },
      () => person.api().delete(),
    );
  const deleteAll = (several) =>
    remove(
      {
        title: "Delete everything?",
        text: `All events${several ? " of all people and devices" : ""} and everything learned from them ${gone}`,
        action: "Delete everything",
        typed: "delete",
      },
      deleteEverything,
    );

  return {
    update(users, status) {
      const { user, exportAddress } = person.api();
      const known = users.find((each) => each.user === user);
      const several = users.length > 1;
      const button = (text, onclick) => h("button", { type: "button", class: "grave", onclick }, text);
      const taken = { class: "button", href: exportAddress, download: `stap-${user}.jsonl` };
      place.replaceChildren(
        h("p", {}, "Everything stays on this machine. Nothing is sent anywhere."),
        h(
          "p",
          {},
          kept(known),
          known?.events && status?.folder ? [" It lies in ", h("code", {}, status.folder), "."] : null,
        ),
        h(
          "div",
          { class: "answers" },
          known?.events ? h("a", taken, "Export everything") : null,
          several && known ? button(`Delete ${user}…`, () => deletePerson(user, known.events)) : null,
          users.length ? button("Delete everything…", () => deleteAll(several)) : null,
        ),
      );
    },
  };
}

function kept(known) {
  if (!known?.events) return "Nothing is kept yet.";
  const [first, last] = [known.first, known.last].map((each) => datedDay(wallHere(Date.parse(each))));
  return `${count(known.events)} events of ${times(known.apps, "app")}, from ${first} to ${last}.`;
}
