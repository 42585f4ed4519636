// Before anything is drawn: the choice between light, dark and the system's own, so that nothing flashes.
const chosen = localStorage.getItem("stap-theme");
if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
