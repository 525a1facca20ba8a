// Work that is asked for often and done as often as the server bears.

/** A function that has `work` done soon: never twice at once, and resting as long as it took.
 *
 * Given `true` it does not rest: somebody waits for what he did himself.
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
      const begun = performance.now();
      await work();
      await rest(Math.max(least, performance.now() - begun));
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
