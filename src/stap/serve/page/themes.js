// The system's colours, or always light, or always dark. theme.js applies the choice before the page is drawn.
const CHOICES = {
  system: { next: "light", name: "Colours: as the system", sign: "◐" },
  light: { next: "dark", name: "Colours: light", sign: "○" },
  dark: { next: "system", name: "Colours: dark", sign: "●" },
};

export function themes(button) {
  let now = document.documentElement.dataset.theme ?? "system";
  const show = () => {
    const { name, sign } = CHOICES[now];
    button.textContent = sign;
    button.setAttribute("aria-label", name);
    button.title = name;
  };
  button.addEventListener("click", () => {
    now = CHOICES[now].next;
    if (now === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = now;
    localStorage.setItem("stap-theme", now);
    show();
  });
  show();
}
