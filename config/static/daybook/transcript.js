// The page of a session: more of its transcript, what is said meanwhile, and finding in it. Every word of a
// transcript comes rendered from the server.
(() => {
  "use strict";

  const byId = (id) => document.getElementById(id);
  const WAIT_MS = 250;
  const NEAR_END = 120;

  document.addEventListener("DOMContentLoaded", () => {
    const section = byId("db-transcript");
    if (!section) return;
    const transcript = new Transcript(section);
    const find = new Find(transcript);
    transcript.changed = () => find.mark();
    if (byId("db-live") && section.dataset.live) follow(transcript, byId("db-live"));
    // A form that is sent keeps the place of the address from before: what it asks for comes first.
    const wanted = new URLSearchParams(location.search).get("seq") ?? location.hash.match(/^#m(\d+)$/)?.[1];
    if (wanted) transcript.show(Number(wanted));
  });

  class Transcript {
    constructor(section) {
      this.section = section;
      this.entries = byId("db-entries");
      this.earlier = byId("db-earlier");
      this.later = byId("db-later");
      this.changed = () => undefined;
      this.more(this.earlier, "before");
      this.more(this.later, "after");
      for (const link of document.querySelectorAll("[data-following]")) {
        link.addEventListener("click", () => { link.search = `?after=${this.wanted() ?? 0}`; });
      }
    }

    async load(question) {
      const answer = await fetch(`${this.section.dataset.part}?${question}`, { headers: { Accept: "text/html" } });
      if (!answer.ok) throw new Error(`${answer.status}`);
      const holder = document.createElement("template");
      holder.innerHTML = await answer.text();
      const places = holder.content.querySelector("template[data-earlier]")?.dataset ?? {};
      holder.content.querySelectorAll("template").forEach((mark) => mark.remove());
      return { part: holder.content, earlier: places.earlier, later: places.later };
    }

    more(link, direction) {
      link.addEventListener("click", async (event) => {
        event.preventDefault();
        if (link.dataset.loading) return;
        link.dataset.loading = "yes";
        try {
          const { part, earlier, later } = await this.load(new URL(link.href).searchParams.toString());
          const height = document.documentElement.scrollHeight;
          if (direction === "before") this.entries.prepend(part); else this.entries.append(part);
          lead(link, direction, direction === "before" ? earlier : later);
          this.settle();
          // What is read stays where it is when something comes in above it.
          if (direction === "before") window.scrollBy(0, document.documentElement.scrollHeight - height);
        } finally { delete link.dataset.loading; }
      });
    }

    // Shows an entry, and loads what stands around it where the page has it not.
    async show(seq) {
      if (!byId(`m${seq}`)) {
        const { part, earlier, later } = await this.load(`seq=${seq}`);
        this.entries.replaceChildren(part);
        lead(this.earlier, "before", earlier);
        lead(this.later, "after", later);
        this.settle();
      }
      const target = this.shown(byId(`m${seq}`));
      document.querySelectorAll(".db-wanted").forEach((entry) => entry.classList.remove("db-wanted"));
      target?.classList.add("db-wanted");
      target?.scrollIntoView({ block: "center" });
      return target;
    }

    // A result is shown with its call.
    shown(entry) { return (entry?.dataset.owner && byId(`m${entry.dataset.owner}`)) || entry; }

    wanted() { return document.querySelector(".db-wanted")?.dataset.seq; }

    last() {
      const all = this.entries.querySelectorAll("[data-seq]");
      return all.length ? Number(all[all.length - 1].dataset.seq) : 0;
    }

    async append() {
      const { part } = await this.load(`after=${this.last()}`);
      const late = [...part.querySelectorAll("[data-owner]")].map((entry) => entry.dataset.owner);
      const owners = new Set(late.filter((seq) => byId(`m${seq}`)));
      this.entries.append(part);
      byId("db-nothing")?.remove();
      for (const seq of owners) await this.renew(seq);
      this.settle();
    }

    async renew(seq) {
      const { part } = await this.load(`only=${seq}`);
      const fresh = part.querySelector(`#m${seq}`);
      if (!fresh) return;
      // What somebody has unfolded stays so.
      const open = [...byId(`m${seq}`).querySelectorAll("details")].map((fold) => fold.open);
      fresh.querySelectorAll("details").forEach((fold, at) => { fold.open = open[at] ?? false; });
      byId(`m${seq}`).replaceWith(fresh);
    }

    settle() {
      let day = "";
      for (const line of this.entries.querySelectorAll(".db-day")) {
        if (line.dataset.day === day) line.remove();
        day = line.dataset.day;
      }
      this.changed();
    }
  }

  function lead(link, direction, seq) {
    link.hidden = !seq;
    link.href = `?${direction}=${seq ?? ""}`;
  }

  function follow(transcript, said) {
    let waiting = Promise.resolve();
    let newest = transcript.last();
    const stream = new EventSource(`${transcript.section.dataset.live}?after=${newest}`);
    const tell = (text, live) => { said.textContent = text; said.classList.toggle("db-is-live", live); };
    stream.addEventListener("open", () => tell("live", true));
    stream.addEventListener("error", () => tell("not live", false));
    stream.addEventListener("ended", () => { tell("ended", false); stream.close(); });
    stream.addEventListener("message", (event) => {
      newest = Math.max(newest, Number(event.lastEventId));
      waiting = waiting.then(async () => {
        // Somebody reads an older part: what is new is behind the link to later entries.
        if (!transcript.later.hidden) { tell("live · newer entries below", true); return; }
        if (newest <= transcript.last()) return;
        const atEnd = window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - NEAR_END;
        await transcript.append();
        if (atEnd) window.scrollTo(0, document.documentElement.scrollHeight);
      }).catch(() => undefined);
    });
    window.addEventListener("pagehide", () => stream.close());
  }

  // Marks what is shown, and goes through all places of the session, those too that the page has not loaded.
  class Find {
    constructor(transcript) {
      this.transcript = transcript;
      this.field = byId("db-find");
      this.places = [];
      this.at = -1;
      this.field.addEventListener("input", () => this.typed());
      this.field.addEventListener("keydown", (event) => {
        if (event.key === "Enter") { event.preventDefault(); this.go(event.shiftKey ? -1 : 1); }
        if (event.key === "Escape") { this.field.value = ""; this.typed(); }
      });
      byId("db-find-next").addEventListener("click", () => this.go(1));
      byId("db-find-before").addEventListener("click", () => this.go(-1));
      document.addEventListener("keydown", (event) => {
        if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.closest("input, textarea, select")) return;
        event.preventDefault();
        this.field.focus();
      });
      if (this.field.value) this.typed();
    }

    get words() { return this.field.value.trim(); }

    typed() {
      clearTimeout(this.timer);
      this.places = [];
      this.at = -1;
      this.mark();
      this.tell(this.words ? "…" : "");
      this.asking = this.words ? new Promise((done) => { this.timer = setTimeout(() => done(this.ask()), WAIT_MS); }) : null;
    }

    async ask() {
      const words = this.words;
      const answer = await fetch(`${this.field.dataset.find}?q=${encodeURIComponent(words)}`);
      if (!answer.ok || words !== this.words) return;
      const { seqs, more } = await answer.json();
      this.places = seqs;
      this.more = more;
      this.count();
    }

    count() {
      const number = `${this.places.length}${this.more ? " newest" : ""}`;
      this.tell(this.at < 0 ? `${number} found` : `${this.at + 1} of ${number}`);
      for (const id of ["db-find-next", "db-find-before"]) byId(id).hidden = this.places.length === 0;
    }

    async go(step) {
      await this.asking;
      if (!this.places.length) return;
      if (this.at < 0) {
        const top = this.firstInView();
        this.at = step > 0 ? this.places.findIndex((seq) => seq >= top) : this.places.findLastIndex((seq) => seq < top);
        if (this.at < 0) this.at = step > 0 ? 0 : this.places.length - 1;
      } else this.at = (this.at + step + this.places.length) % this.places.length;
      this.count();
      const target = await this.transcript.show(this.places[this.at]);
      const words = this.words.toLowerCase();
      for (const fold of target?.querySelectorAll("details") ?? []) {
        if (fold.textContent.toLowerCase().includes(words)) fold.open = true;
      }
    }

    firstInView() {
      const entries = [...this.transcript.entries.querySelectorAll("[data-seq]")];
      return Number(entries.find((entry) => entry.getBoundingClientRect().bottom > 100)?.dataset.seq ?? 0);
    }

    mark() {
      const words = this.words.toLowerCase();
      const ranges = [];
      for (const entry of this.transcript.entries.querySelectorAll("article")) {
        const hit = words !== "" && entry.textContent.toLowerCase().includes(words);
        entry.classList.toggle("db-hit-entry", hit);
        if (hit) ranges.push(...within(entry, words));
      }
      if (window.CSS?.highlights) CSS.highlights.set("db-found", new Highlight(...ranges));
    }

    tell(text) {
      byId("db-found").textContent = text;
      if (!text || text === "…") for (const id of ["db-find-next", "db-find-before"]) byId(id).hidden = true;
    }
  }

  function within(entry, words) {
    const ranges = [];
    const walker = document.createTreeWalker(entry, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const text = walker.currentNode.data.toLowerCase();
      // Some letters change their length when they are made small: their places would be others.
      if (text.length !== walker.currentNode.data.length) continue;
      for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + words.length)) {
        const range = new Range();
        range.setStart(walker.currentNode, at);
        range.setEnd(walker.currentNode, at + words.length);
        ranges.push(range);
      }
    }
    return ranges;
  }
})();
