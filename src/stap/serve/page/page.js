// The page as a whole: who is looked at, what is loaded when, and the wire over which changes come.
import { adaptation } from "./adaptation.js";
import { personal, users as allUsers } from "./api.js";
import { apps } from "./apps.js";
import { aboutApp, confirmed, forgetting } from "./dialogs.js";
import { byId, calmly, h } from "./dom.js";
import { follow } from "./follow.js";
import { hits } from "./hits.js";
import { imports } from "./imports.js";
import { howFar } from "./learning.js";
import { next } from "./next.js";
import { privacy } from "./privacy.js";
import { server } from "./server.js";
import { themes } from "./themes.js";
import { timeline } from "./timeline.js";
import { week } from "./week.js";

const FIRST = "me";
const [SOON, LATER] = [1000, 60_000];
const PATIENCE = 1000; // milliseconds that the charts wait for the row, so that nothing delays it
const AGAIN = 5000; // milliseconds until a wire that was refused is tried again
const [home, welcome, notice, link, picker] = ["home", "welcome", "notice", "link", "user"].map(byId);
let api = personal(localStorage.getItem("stap-user") ?? FIRST);
let people = [];
let wire = null;
let told = null; // when the wire has said its first word
let locked = false;
let wait = SOON; // until hits that are being counted are asked for again

const person = { api: () => api, failed };
const learning = howFar();
const row = next(person, open);
const list = apps({ open, hide, forget });
const day = timeline(person);
const panels = [week(), hits(), follow(), list];
const machine = server();
const own = adaptation(person);
const rights = privacy(person, deleted);
const taking = imports(person, reload);

function failed(refusal) {
  if (!("status" in refusal)) throw refusal; // a mistake of ours: the console has it
  if (refusal.status === 503 && refusal.where === "history") {
    learning.show(refusal.why);
    again();
    return;
  }
  locked = refusal.status === 401;
  if (locked) {
    wire.close(); // asking again would not help
    tell("away", "Locked");
  }
  const why = locked ? "This page needs the address that `stap serve` printed." : refusal.why;
  const remedy = locked ? "Open it once; it holds the key, and this browser remembers it." : refusal.remedy;
  notice.replaceChildren(
    h("strong", {}, [locked ? "" : refusal.where, why].filter(Boolean).join(": ")),
    remedy ? ` ${remedy}` : "",
  );
  notice.hidden = false;
}

/** Who is here, and for them the row first: it is what somebody came for. */
async function load() {
  people = await allUsers();
  notice.hidden = true;
  if (!about(api.user)?.events) {
    const other = people.find((each) => each.user === FIRST && each.events) ?? people.find((each) => each.events);
    if (other) choose(other.user);
  }
  const begun = Boolean(about(api.user)?.events);
  begin(begun);
  byId("person").hidden = people.length < 2;
  picker.replaceChildren(...people.map(({ user }) => h("option", { value: user, selected: user === api.user }, user)));
  if (begun) await Promise.race([told, new Promise((resolve) => setTimeout(resolve, PATIENCE))]);
  if (begun) statistics.now();
  if (begun && !row.shown()) row.refresh();
  rights.update(people, await machine.update());
}

/** The first visit, or everything else. */
function begin(begun) {
  welcome.hidden = begun;
  home.hidden = byId("sections").hidden = !begun;
}

const about = (user) => people.find((each) => each.user === user);

async function reload() {
  try {
    await load();
  } catch (refusal) {
    failed(refusal);
  }
}

const statistics = calmly(10_000, async () => {
  const whose = api.user;
  try {
    const told = await api.statistics();
    people = await allUsers();
    if (whose !== api.user) return;
    learning.over();
    for (const panel of panels) panel.update(told);
    day.update(told, about(whose));
    own.update();
    rights.update(people, machine.last());
    wait = told.hits.length || !told.apps.length ? SOON : Math.min(2 * wait, LATER);
    if (wait > SOON) setTimeout(statistics.now, wait); // the server counts hits when it is first asked for them
  } catch (refusal) {
    failed(refusal);
  }
});

function choose(user) {
  api = personal(user);
  localStorage.setItem("stap-user", user);
  row.empty();
  day.empty();
  learning.over();
  connect();
}

picker.addEventListener("change", () => {
  choose(picker.value);
  reload();
});

/** Server-sent events; the browser connects again by itself, unless it was refused. The first one is the row of now. */
function connect() {
  wire?.close();
  let heard;
  told = new Promise((resolve) => {
    heard = resolve;
  });
  wire = api.live();
  wire.onopen = () => tell("live", "Live");
  wire.onerror = () => {
    if (locked) return;
    tell("away", "Not connected");
    if (wire.readyState === EventSource.CLOSED) setTimeout(() => locked || connect(), AGAIN);
  };
  wire.addEventListener("ranking", (event) => {
    const now = JSON.parse(event.data);
    if (row.shown()) {
      row.happened();
      statistics();
    } else if (now.ranking.length) {
      row.show(now);
      if (!welcome.hidden) again();
      begin(true);
    }
    heard();
  });
  wire.addEventListener("problem", () => {
    again();
    heard();
  });
  wire.addEventListener("import", (event) => {
    const end = JSON.parse(event.data);
    taking.ended(end);
    if (end.state === "done") again();
  });
}
const again = calmly(2000, reload);

function tell(state, text) {
  const back = link.dataset.state === "away" && state === "live";
  link.dataset.state = state;
  link.textContent = text;
  if (back) reload();
}

function open(app) {
  aboutApp(app, {
    known: list.about(app),
    why: () => api.why({ app }),
    hide: (hidden) => hide(app, hidden),
    forget: () => forget(app),
  });
}

function hide(app, hidden) {
  return change(() => api.hide(app, hidden));
}

async function forget(app) {
  if (await confirmed(forgetting(app, list.about(app)))) await list.leaves(app, change(() => api.forget(app)));
}

async function change(work) {
  try {
    await work();
    row.refresh();
    await load();
  } catch (refusal) {
    failed(refusal);
  }
}

async function deleted() {
  choose(FIRST);
  await reload();
  byId("main").focus();
}

byId("demo").addEventListener("click", taking.demo);
themes(byId("theme"));
connect();
reload();
