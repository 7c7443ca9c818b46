// What the console's own pages do in the browser.
(() => {
  "use strict";

  const byId = (id) => document.getElementById(id);

  document.addEventListener("DOMContentLoaded", () => {
    if (byId("db-job")) job(byId("db-job"));
  });

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
