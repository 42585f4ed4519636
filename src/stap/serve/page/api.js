// All talk with the server. What it refuses comes back as a Refusal: where, why, and what to do.

export class Refusal extends Error {
  constructor(status, { where = "", why = "The server did not answer as expected", remedy = "" } = {}) {
    super(why);
    Object.assign(this, { status, where, why, remedy });
  }
}

const AWAY = {
  why: "The server does not answer",
  remedy: "Is `stap serve` still running? This page tries again by itself.",
};

async function ask(method, path, body) {
  let answer;
  try {
    answer = await fetch(`/api/v1${path}`, {
      method,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Refusal(0, AWAY);
  }
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refusal(answer.status, told.error);
  return told;
}

const query = (values) => {
  const pairs = Object.entries(values).flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [value].flat().map((each) => [name, String(each)]),
  );
  return pairs.length ? `?${new URLSearchParams(pairs)}` : "";
};

export const users = async () => (await ask("GET", "/users")).users;
export const status = () => ask("GET", "/status");
export const deleteEverything = () => ask("DELETE", "/everything");

/** The calls about one person or device. */
export function personal(user) {
  const base = `/users/${encodeURIComponent(user)}`;
  return {
    user,
    ranking: (values) => ask("GET", `${base}/ranking${query(values)}`),
    why: (values) => ask("GET", `${base}/why${query(values)}`),
    history: (values) => ask("GET", `${base}/history${query(values)}`),
    statistics: () => ask("GET", `${base}/statistics`),
    hide: (app, hidden) => ask("PUT", `${base}/apps/hidden`, { app, hidden }),
    forget: (app) => ask("POST", `${base}/apps/forget`, { app }),
    demo: () => ask("POST", `${base}/demo`),
    importState: (id) => ask("GET", `${base}/imports/${encodeURIComponent(id)}`),
    upload: (file, progress) => upload(`/api/v1${base}/imports`, file, progress),
    adaptation: () => ask("GET", `${base}/adaptation`),
    goBack: () => ask("DELETE", `${base}/adaptation`),
    adaptAgain: () => ask("POST", `${base}/adaptation`),
    delete: () => ask("DELETE", base),
    exportAddress: `/api/v1${base}/export`,
    live: () => new EventSource(`/api/v1${base}/live`),
  };
}

/** A file as it is. XMLHttpRequest, because fetch does not tell how much of a body has left. */
function upload(address, file, progress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", address);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.setRequestHeader("X-File-Name", encodeURIComponent(file.name));
    request.setRequestHeader("X-Time-Zone", Intl.DateTimeFormat().resolvedOptions().timeZone);
    request.responseType = "json";
    request.upload.onprogress = (event) => event.lengthComputable && progress(event.loaded / event.total);
    request.onload = () =>
      request.status < 300 ? resolve(request.response) : reject(new Refusal(request.status, request.response?.error));
    request.onerror = () => reject(new Refusal(0, AWAY));
    request.send(file);
  });
}
