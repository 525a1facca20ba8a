// A classic script in the head, so that the page is never painted in the wrong theme.
(() => {
  const KEY = "heliotrope-theme";
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const current = () => root.dataset.theme ?? (dark.matches ? "dark" : "light");

  function announce() {
    for (const button of document.querySelectorAll("[data-theme-toggle]")) {
      button.textContent = current() === "dark" ? "Light" : "Dark";
      button.setAttribute("aria-label", `${button.textContent} theme`);
    }
    document.dispatchEvent(new Event("themechange"));
  }

  function toggle() {
    root.dataset.theme = current() === "dark" ? "light" : "dark";
    localStorage.setItem(KEY, root.dataset.theme);
    announce();
  }

  const kept = localStorage.getItem(KEY);
  if (kept === "light" || kept === "dark") root.dataset.theme = kept;
  dark.addEventListener("change", announce);
  document.addEventListener("DOMContentLoaded", () => {
    for (const button of document.querySelectorAll("[data-theme-toggle]")) {
      button.addEventListener("click", toggle);
    }
    announce();
  });
})();
