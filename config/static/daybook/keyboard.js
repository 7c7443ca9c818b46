// What the theme leaves to the pointer, for the keyboard and for those who hear the page.
(() => {
  "use strict";

  const NAMES = [
    [/sidebar(Mobile|Desktop)Open = !/, "Show or hide the menu"],
    [/openUserLinks = !/, "Theme and account"],
    [/filterOpen = true/, null],
  ];
  const NATIVE = "a[href], button, input, select, textarea, summary, label";

  document.addEventListener("DOMContentLoaded", () => {
    landmarks();
    for (const element of document.querySelectorAll("[x-on\\:click]")) press(element);
    // These are made after this.
    window.addEventListener("load", () => {
      for (const tip of document.querySelectorAll(".help-tooltip[aria-label]")) tip.setAttribute("role", "img");
      document.querySelectorAll("#result_list").forEach((table) => {
        table.closest("[aria-label='scrollable content']")?.setAttribute("aria-label", "The list");
      });
    });
  });

  function landmarks() {
    const content = document.getElementById("content");
    content?.setAttribute("role", "main");
    content?.setAttribute("tabindex", "-1");
    document.getElementById("header-inner")?.setAttribute("role", "banner");
    const menu = document.getElementById("nav-sidebar-inner");
    if (menu) menu.setAttribute("aria-label", "Pages");
  }

  function press(element) {
    if (element.matches(NATIVE) || element.id === "changelist-filter-close") return;
    const known = NAMES.find(([expression]) => expression.test(element.getAttribute("x-on:click")));
    if (element.tagName !== "A" && !known) return;
    element.setAttribute("role", "button");
    element.setAttribute("tabindex", "0");
    if (known?.[1]) element.setAttribute("aria-label", known[1]);
    element.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      element.click();
    });
  }
})();
