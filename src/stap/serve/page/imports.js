// Logs by drop or by button, one after the other, each with its progress and the server's own words when it fails.
import { byId, h } from "./dom.js";
import { dropped } from "./drop.js";
import { count, times } from "./words.js";

const EVERY = 350; // milliseconds between questions how far it is
const DOING = { reading: "Reading", learning: "Learning" };

export function imports(person, done) {
  const [input, list] = ["file", "imports"].map(byId);
  const [begun, beginning] = [new Set(), new Set()]; // imports of this page, and those whose number is not known yet
  let before = Promise.resolve();

  function entryOf(name, ...children) {
    const state = h("span", { class: "state" }, "Waiting");
    const entry = h("li", {}, h("span", { class: "file" }, name), state, children);
    list.prepend(entry);
    return { entry, state, name };
  }

  /** One import from its turn to its end; `begin` starts it on the server, which gives its id. */
  async function run({ entry, state, name }, bar, begin, quietly) {
    const api = person.api();
    try {
      state.textContent = "Sending";
      const start = begin(api, (share) => {
        bar.value = share;
      });
      beginning.add(start);
      const { import: id } = await start.finally(() => beginning.delete(start));
      begun.add(id);
      end({ entry, state }, await follow(api, id, bar, state));
    } catch (refusal) {
      if (quietly && refusal.stranger) entry.remove();
      else fail(entry, state, refusal);
      return refusal;
    } finally {
      bar.remove();
      dismissable(entry, name);
    }
    await done(api.user);
  }

  async function follow(api, id, bar, state) {
    for (;;) {
      const told = await api.importState(id);
      if (told.state === "failed") throw failure(told);
      if (told.state === "done") return told;
      state.textContent = `${DOING[told.state] ?? "Working"}${told.events ? `, ${count(told.events)} events` : ""}`;
      if (Number.isFinite(told.share)) bar.value = told.share;
      await new Promise((resolve) => setTimeout(resolve, EVERY));
    }
  }

  function end({ entry, state }, { events, notes }) {
    state.textContent = `${times(events, "event")} learned`;
    const sentence = (note) => h("li", {}, String(note));
    if (notes?.length) entry.append(h("ul", { class: "notes" }, notes.map(sentence)));
  }

  /** It ended, and another page may have begun it: then it is news here. */
  async function ended(told) {
    await Promise.allSettled(beginning);
    if (begun.has(told.import) || told.stranger) return;
    const shown = entryOf(told.name);
    if (told.state === "failed") fail(shown.entry, shown.state, failure(told));
    else end(shown, told);
    dismissable(shown.entry, told.name);
  }

  const turn = (work) => {
    before = before.then(work);
  };

  function take(files) {
    for (const file of files) queue(file.name, (api, progress) => api.upload(file, progress));
  }

  function queue(name, begin) {
    const bar = barOf(name);
    const shown = entryOf(name, bar);
    list.scrollIntoView({ block: "center" });
    turn(() => run(shown, bar, begin));
  }

  /** Of a folder each file that is a log; what is none is passed over, as `stap import` does, and counted. */
  function takeFolder(folder, files, others) {
    turn(async () => {
      let strangers = others;
      for (const file of files) {
        const bar = barOf(file.name);
        const failed = await run(entryOf(file.name, bar), bar, (api, progress) => api.upload(file, progress), true);
        if (failed?.stranger) strangers += 1;
      }
      const { entry, state } = entryOf(folder);
      const logs = files.length + others - strangers;
      if (logs) state.textContent = `${times(logs, "log")}, ${times(strangers, "other file")} passed over`;
      else fail(entry, state, { where: folder, why: "no log in this folder", remedy: "Drop a log that STAP reads." });
      dismissable(entry, folder);
    });
  }

  for (const id of ["choose", "welcome-choose"]) byId(id).addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    take([...input.files]);
    input.value = "";
  });
  dropped(take, takeFolder);
  return { demo: () => queue("The demo person", (api) => api.demo()), ended };
}

const barOf = (name) => h("progress", { max: 1, "aria-label": `Import of ${name}` });
const failure = ({ error, stranger }) => Object.assign(new Error("The import failed"), error, { stranger });

function fail(entry, state, { where, why, message, remedy }) {
  entry.className = "failed";
  state.textContent = "Not imported";
  const reason = [where, why ?? message].filter(Boolean).join(": ");
  entry.append(h("p", { class: "reason" }, reason), remedy ? h("p", { class: "remedy" }, remedy) : "");
}

function dismissable(entry, name) {
  const about = { type: "button", class: "quiet icon", "aria-label": `Dismiss ${name}`, onclick: () => entry.remove() };
  entry.append(h("button", about, "×"));
}
