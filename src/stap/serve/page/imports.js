// Logs by drop or by button, one after the other, each with its progress and the server's own words when it fails.
import { byId, h } from "./dom.js";
import { count, times } from "./words.js";

const EVERY = 350; // milliseconds between questions how far it is
const DOING = { reading: "Reading", learning: "Learning" };

export function imports(person, done) {
  const [input, list, drop] = ["file", "imports", "drop"].map(byId);
  let before = Promise.resolve();

  /** One import from its turn to its end; `begin` starts it on the server, which gives its id. */
  async function run(name, begin, turn) {
    const bar = h("progress", { max: 1, "aria-label": `Import of ${name}` });
    const state = h("span", { class: "state" }, "Waiting");
    const entry = h("li", {}, h("span", { class: "file" }, name), state, bar);
    list.prepend(entry);
    list.scrollIntoView({ block: "center" });
    const api = person.api();
    await turn;
    try {
      state.textContent = "Sending";
      const { import: id } = await begin(api, (share) => {
        bar.value = share;
      });
      if (id) await follow(api, id, bar, state, entry);
      else state.textContent = "Done";
    } catch (refusal) {
      fail(entry, state, refusal);
    }
    bar.remove();
    entry.append(
      h(
        "button",
        { type: "button", class: "quiet icon", "aria-label": `Dismiss ${name}`, onclick: () => entry.remove() },
        "×",
      ),
    );
    await done(api.user);
  }

  async function follow(api, id, bar, state, entry) {
    for (;;) {
      const told = await api.importState(id);
      if (told.state === "failed") throw told.error ?? new Error("The import failed");
      if (told.state === "done") {
        state.textContent = `${times(told.events, "event")} learned`;
        if (told.notes?.length)
          entry.append(
            h(
              "ul",
              { class: "notes" },
              told.notes.map((note) => h("li", {}, String(note))),
            ),
          );
        return;
      }
      state.textContent = `${DOING[told.state] ?? "Working"}${told.events ? `, ${count(told.events)} events` : ""}`;
      if (Number.isFinite(told.share)) bar.value = told.share;
      await new Promise((resolve) => setTimeout(resolve, EVERY));
    }
  }

  function fail(entry, state, { where, why, message, remedy }) {
    entry.className = "failed";
    state.textContent = "Not imported";
    const reason = [where, why ?? message].filter(Boolean).join(": ");
    entry.append(h("p", { class: "reason" }, reason), remedy ? h("p", { class: "remedy" }, remedy) : null);
  }

  const queue = (name, begin) => {
    before = run(name, begin, before);
  };
  const take = (files) => {
    for (const file of files) queue(file.name, (api, progress) => api.upload(file, progress));
  };

  for (const id of ["choose", "welcome-choose"]) byId(id).addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    take([...input.files]);
    input.value = "";
  });
  const files = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  let depth = 0; // entering a child comes before leaving its parent
  addEventListener("dragenter", (event) => {
    if (files(event)) {
      depth += 1;
      drop.hidden = false;
    }
  });
  addEventListener("dragleave", (event) => {
    if (files(event) && --depth <= 0) {
      depth = 0;
      drop.hidden = true;
    }
  });
  addEventListener("dragover", (event) => files(event) && event.preventDefault());
  addEventListener("drop", (event) => {
    if (!files(event)) return;
    event.preventDefault();
    depth = 0;
    drop.hidden = true;
    take([...event.dataTransfer.files]);
  });

  return { demo: () => queue("The demo person", (api) => api.demo()) };
}
