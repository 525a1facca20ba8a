// Repeated work at a rate that the server can bear.

/** A function that runs `work` soon: never twice at once, with a pause as long as the last run.
 *
 * With `true` there is no pause: the user waits for the effect of an action.
 */
export function paced(work, least = 300) {
  let isWanted = false;
  let isBusy = false;
  let wake = () => {};

  const rest = (length) => new Promise((resolve) => {
    wake = resolve;
    setTimeout(resolve, length);
  });

  async function run() {
    isBusy = true;
    while (isWanted && !document.hidden) {
      isWanted = false;
      const started = performance.now();
      await work();
      await rest(Math.max(least, performance.now() - started));
    }
    isBusy = false;
  }

  document.addEventListener("visibilitychange", () => { if (isWanted && !isBusy) run(); });
  return (isUrgent = false) => {
    isWanted = true;
    if (!isBusy) run();
    else if (isUrgent) wake();
  };
}
