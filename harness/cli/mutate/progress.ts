/** Shows the progress of `muster mutate` on standard error. */
import { readableDuration } from '../../common/durations.ts';
import { bar, inert, LiveArea, type Output, printable } from '../../common/terminal.ts';
import type { MutateListener } from '../../mutate/run.ts';
import { isFinding, isKilled } from '../../reports/mutation/report.ts';

const EVERY = 25;

export class Progress implements MutateListener {
  readonly onSecrets: MutateListener['onSecrets'];
  readonly #area: LiveArea;
  readonly #count = { all: 0, done: 0, killed: 0, findings: 0 };
  #since = 0;
  #saidLeft = false;

  constructor(output: Output, onSecrets: MutateListener['onSecrets']) {
    this.#area = new LiveArea(output);
    this.onSecrets = onSecrets;
  }

  onBegin: MutateListener['onBegin'] = ({ first, timeoutMs, count, jobs, expectedMs }) => {
    this.#count.all = count;
    this.#since = performance.now();
    const passed = `the tests pass on the faithful simulator in ${readableDuration(first.durationMs)}`;
    const most = `${readableDuration(timeoutMs)} at most for each`;
    this.#area.line(
      count === 0
        ? `${passed}; no other server can show in what they ask`
        : `${passed}; now ${count} others, ${jobs} at a time: ${about(expectedMs)}, ${most}`,
    );
    this.#draw();
  };

  onResult: MutateListener['onResult'] = (result) => {
    this.#count.done += 1;
    if (isKilled(result)) this.#count.killed += 1;
    if (isFinding(result)) {
      this.#count.findings += 1;
      this.#area.line(inert(printable(`${result.state} ${result.name}: ${result.summary}`)));
    }
    if (!this.#area.live && this.#count.done % EVERY === 0) this.#area.line(this.#words());
    this.#draw();
  };

  onLeftBehind: MutateListener['onLeftBehind'] = () => {
    if (this.#saidLeft) return;
    this.#saidLeft = true;
    this.#area.line(
      'the tests have ended, but something that they started in a session of its own still runs and holds their output',
    );
  };

  end(): void {
    this.#area.clear();
  }

  #draw(): void {
    this.#area.draw([`${bar(this.#count.done, this.#count.all)} ${this.#words()}`]);
  }

  #words(): string {
    const { all, done, killed, findings } = this.#count;
    const left = done === 0 ? 0 : ((performance.now() - this.#since) / done) * (all - done);
    const when = done === 0 || done === all ? '' : ` · ${about(left)} left`;
    return `${done} of ${all} · ${killed} killed · ${findings} to look at${when}`;
  }
}

const about = (ms: number): string => `about ${readableDuration(Math.ceil(ms / 1000) * 1000)}`;
