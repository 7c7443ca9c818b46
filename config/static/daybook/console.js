// What the console's own pages do in the browser. Every word of a transcript comes rendered from the server.
(() => {
  "use strict";

  const byId = (id) => document.getElementById(id);

  document.addEventListener("DOMContentLoaded", () => {
    if (byId("db-transcript")) transcript(byId("db-transcript"));
    if (byId("db-job")) job(byId("db-job"));
  });

  function transcript(section) {
    const entries = byId("db-entries");
    const find = byId("db-find");

    async function load(question) {
      const answer = await fetch(`${section.dataset.part}?${question}`, { headers: { Accept: "text/html" } });
      if (!answer.ok) throw new Error(`${answer.status}`);
      const holder = document.createElement("template");
      holder.innerHTML = await answer.text();
      const places = holder.content.querySelector("template[data-earlier]")?.dataset ?? {};
      holder.content.querySelectorAll("template").forEach((mark) => mark.remove());
      return { part: holder.content, ...places };
    }

    function more(link, direction, put) {
      link?.addEventListener("click", async (event) => {
        event.preventDefault();
        if (link.dataset.loading) return;
        link.dataset.loading = "yes";
        try {
          const { part, earlier, later } = await load(new URL(link.href).searchParams.toString());
          const height = document.documentElement.scrollHeight;
          put(part);
          // What is read stays where it is when something comes in above it.
          if (direction === "before") window.scrollBy(0, document.documentElement.scrollHeight - height);
          const next = direction === "before" ? earlier : later;
          if (next) link.href = `?${direction}=${next}`; else link.remove();
          mark();
        } finally { delete link.dataset.loading; }
      });
    }
    more(byId("db-earlier"), "before", (part) => entries.prepend(part));
    more(byId("db-later"), "after", (part) => entries.append(part));

    function mark() {
      const wanted = find.value.trim().toLowerCase();
      let number = 0;
      for (const entry of entries.querySelectorAll("article")) {
        const hit = wanted !== "" && entry.textContent.toLowerCase().includes(wanted);
        entry.classList.toggle("db-hit-entry", hit);
        entry.classList.toggle("db-missed", wanted !== "" && !hit);
        if (hit) number += 1;
      }
      byId("db-found").textContent = wanted ? `${number} found` : "";
    }
    find.addEventListener("input", mark);
    find.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        event.preventDefault();
        const hits = [...entries.querySelectorAll(".db-hit-entry")];
        const at = hits.findIndex((entry) => entry.getBoundingClientRect().top > 200);
        (hits[at] ?? hits[0])?.scrollIntoView({ block: "center" });
      }
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && !event.target.closest("input, textarea, select")) {
        event.preventDefault();
        find.focus();
      }
    });

    if (location.hash.startsWith("#m")) {
      const target = byId(location.hash.slice(1));
      target?.classList.add("db-wanted");
      target?.scrollIntoView({ block: "center" });
    } else if (!location.search && !section.querySelector("#db-later")) {
      // The newest entries are at the end; whoever opens the page wants the head first, so nothing moves.
    }

    const live = byId("db-live");
    if (section.dataset.live && live && !byId("db-later")) follow(live);

    function follow(said) {
      let last = Number(section.dataset.last);
      let waiting = Promise.resolve();
      const stream = new EventSource(`${section.dataset.live}?after=${last}`);
      stream.addEventListener("open", () => { said.textContent = "live"; said.classList.add("db-is-live"); });
      stream.addEventListener("error", () => { said.textContent = "not live"; said.classList.remove("db-is-live"); });
      stream.addEventListener("message", (event) => {
        if (Number(event.lastEventId) <= last) return;
        waiting = waiting.then(async () => {
          const before = last;
          if (Number(event.lastEventId) <= before) return;
          const { part } = await load(`after=${before}`);
          for (const entry of part.querySelectorAll("[data-seq]")) last = Math.max(last, Number(entry.dataset.seq));
          const atEnd = window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 120;
          entries.append(part);
          byId("db-nothing")?.remove();
          mark();
          if (atEnd) window.scrollTo(0, document.documentElement.scrollHeight);
        }).catch(() => undefined);
      });
      stream.addEventListener("ended", () => { said.textContent = "ended"; said.classList.remove("db-is-live"); stream.close(); });
      window.addEventListener("pagehide", () => stream.close());
    }
  }

  function job(section) {
    if (!section.dataset.progress) return;
    const look = async () => {
      const answer = await fetch(section.dataset.progress, { headers: { Accept: "application/json" } });
      if (!answer.ok) return;
      const told = await answer.json();
      section.querySelector("progress").value = told.done;
      for (const name of ["state", "done", "refused"]) section.querySelector(`[data-job=${name}]`).textContent = told[name];
      if (told.state === "done" || told.state === "stopped") location.reload();
      else setTimeout(look, 1000);
    };
    setTimeout(look, 500);
  }
})();
