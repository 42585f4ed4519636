// What is dropped anywhere on the page: files, and folders with all that lies in them.
import { byId } from "./dom.js";

const MOST = 2000; // files of one folder
const NO_LOGS = /^(image|video|audio|font)\b/;

/** `take` gets files; `takeFolder` a folder's name, its files, and how many of others were not even looked at. */
export function dropped(take, takeFolder) {
  const cover = byId("drop");
  const files = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  let depth = 0; // entering a child comes before leaving its parent
  addEventListener("dragenter", (event) => {
    if (files(event)) {
      depth += 1;
      cover.hidden = false;
    }
  });
  addEventListener("dragleave", (event) => {
    if (files(event) && --depth <= 0) {
      depth = 0;
      cover.hidden = true;
    }
  });
  addEventListener("dragover", (event) => files(event) && event.preventDefault());
  addEventListener("drop", (event) => {
    if (!files(event)) return;
    event.preventDefault();
    depth = 0;
    cover.hidden = true;
    for (const item of event.dataTransfer.items) {
      const entry = item.webkitGetAsEntry?.();
      if (entry?.isDirectory) walked(entry).then(([found, others]) => takeFolder(entry.name, found, others));
      else if (item.kind === "file") take([item.getAsFile()]);
    }
  });
}

/** The files of a folder that may be logs, in the order of their names, and how many were left out. */
async function walked(folder) {
  const found = [];
  let others = 0;
  for await (const entry of inside(folder)) {
    const file = await new Promise((resolve) => entry.file(resolve, () => resolve(null)));
    if (!file || entry.name.startsWith(".") || NO_LOGS.test(file.type) || found.length >= MOST) others += 1;
    else found.push(file);
  }
  return [found, others];
}

async function* inside(folder) {
  const entries = [];
  const reader = folder.createReader();
  for (let part; part?.length !== 0; entries.push(...part))
    part = await new Promise((resolve) => reader.readEntries(resolve, () => resolve([]))); // a part at a time
  entries.sort((one, other) => one.name.localeCompare(other.name));
  for (const entry of entries) {
    if (entry.isDirectory) yield* inside(entry);
    else yield entry;
  }
}
