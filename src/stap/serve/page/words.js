// Numbers, times and names as a person reads them. Times keep the wall clock of their offset, not the browser's.

const numbers = new Intl.NumberFormat("en");
const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const dates = {
  long: new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", weekday: "long", day: "numeric", month: "long" }),
  dated: new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", day: "numeric", month: "long", year: "numeric" }),
  short: new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", day: "numeric", month: "short" }),
};
export const DAY = 86_400_000;

export const weekday = (index) => WEEKDAYS[index];
export const count = (n) => numbers.format(n);
export const times = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

/** 0.618 -> "62 %"; what is not nothing is never told as 0 %. */
export function percent(share) {
  if (!Number.isFinite(share)) return "–";
  if (share > 0 && share < 0.005) return "< 1 %";
  return `${Math.round(share * 100)} %`;
}

/** Milliseconds of the wall clock that an ISO time shows, as if it were UTC. */
export const wall = (iso) => Date.parse(`${iso.slice(0, 19)}Z`);
export const midnight = (moment) => Math.floor(moment / DAY) * DAY;

/** The wall clock of this browser at a moment, in the same terms. */
export const wallHere = (moment) => moment - new Date(moment).getTimezoneOffset() * 60_000;
export const wallNow = () => wallHere(Date.now());

export const clock = (moment) => new Date(moment).toISOString().slice(11, 16);
export const isoDay = (moment) => new Date(moment).toISOString().slice(0, 10);
export const longDay = (moment) => dates.long.format(moment);
export const datedDay = (moment) => dates.dated.format(moment);
export const shortDay = (moment) => dates.short.format(moment);
export const hourSpan = (hour) =>
  `${String(hour).padStart(2, "0")}:00 to ${String((hour + 1) % 24).padStart(2, "0")}:00`;

/** Minutes as "3 h 20 min", "12 min", "under a minute". */
export function duration(minutes) {
  if (minutes < 1) return "under a minute";
  const whole = Math.round(minutes);
  const hours = Math.floor(whole / 60);
  if (hours >= 100) return `${count(hours)} h`;
  return [hours ? `${hours} h` : "", whole % 60 || !hours ? `${whole % 60} min` : ""].filter(Boolean).join(" ");
}

export function uptime(seconds) {
  if (seconds >= 172_800) return `${Math.floor(seconds / 86_400)} days`;
  return duration(seconds / 60);
}

/** A name short enough for a label, cut between characters as people see them. */
export function short(name, most) {
  const letters = Array.from(name);
  return letters.length > most
    ? `${letters
        .slice(0, most - 1)
        .join("")
        .trimEnd()}…`
    : name;
}

/** What stands in an app's tile: the first letter or digit of what it is called. */
export function initial(name) {
  const last = /^[\w]+(\.[\w]+){2,}$/.test(name) ? name.slice(name.lastIndexOf(".") + 1) : name;
  return (Array.from(last).find((letter) => /[\p{L}\p{N}]/u.test(letter)) ?? "·").toUpperCase();
}
