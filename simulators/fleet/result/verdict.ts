/** Whether a run's figures are the target's or the generator's own. */
import type { Summary } from '../measure/histograms.ts';
import type { LoadSample } from '../measure/saturation.ts';

export const VERDICTS = ['valid', 'suspect', 'invalid'] as const;
export type Verdict = (typeof VERDICTS)[number];

export interface Grade {
  verdict: Verdict;
  /** Each names what was seen, the limit, and what to change. */
  reasons: string[];
}

/** Above the first a run is suspect, above the second its figures are not the target's. */
export const LIMITS = {
  /** 99th percentile over the run of how late actions started, milliseconds. */
  lateness: [50, 250],
  /** Share of seconds in which the event loop of a process stood still longer than `loop_stall_ms`. */
  stalled: [0.05, 0.25],
  loopStallMs: 250,
  /** Share of seconds in which a process used a whole core. */
  busy: [0.5, 0.9],
  busyCpu: 0.95,
  descriptors: [0.9, 0.99],
  /** Waiting this share of the time for a processor, a process is not the one that is too slow. */
  cpuWait: 0.1,
} as const;

export interface Evidence {
  /** `schedule.lateness.ms` over all workers. */
  lateness: Summary | undefined;
  /** Samples of each worker while measuring, one a second. */
  samples: ReadonlyMap<string, readonly LoadSample[]>;
  /** Failures for want of local descriptors, ports or memory (EMFILE, EADDRNOTAVAIL, ENOBUFS). */
  exhausted: number;
}

export function gradeRun({ lateness, samples, exhausted }: Evidence): Grade {
  const found: { verdict: Verdict; reason: string }[] = [];
  const weigh = (value: number, [suspect, invalid]: readonly [number, number], reason: string): void => {
    if (value > suspect) found.push({ verdict: value > invalid ? 'invalid' : 'suspect', reason });
  };
  const crowded = [...samples].flatMap(([worker, taken]) => {
    const worst = Math.max(0, ...taken.map((sample) => sample.cpu_wait));
    return worst > LIMITS.cpuWait ? [`${worker} up to ${Math.round(worst * 100)} % of a second`] : [];
  });
  if (lateness !== undefined && lateness.count > 0) {
    weigh(
      lateness.p99,
      LIMITS.lateness,
      `actions started late: p99 ${lateness.p99.toFixed(1)} ms (limit ${LIMITS.lateness[0]} ms); use more --workers, fewer robots a machine (--shard), or a lower rate`,
    );
  }
  for (const [worker, taken] of samples) {
    if (taken.length === 0) continue;
    const share = (bad: (sample: LoadSample) => boolean): number => taken.filter(bad).length / taken.length;
    const percent = (value: number): string => `${Math.round(value * 100)} %`;
    const stalled = share((sample) => sample.loop_max_ms > LIMITS.loopStallMs);
    weigh(
      stalled,
      LIMITS.stalled,
      `${worker}: the event loop stood still over ${LIMITS.loopStallMs} ms in ${percent(stalled)} of the seconds; use more --workers or a machine with more cores`,
    );
    const busy = share((sample) => sample.cpu > LIMITS.busyCpu);
    weigh(
      busy,
      LIMITS.busy,
      `${worker}: used a whole core in ${percent(busy)} of the seconds; use more --workers, up to the number of cores, then --shard over more machines`,
    );
    const used = Math.max(
      ...taken.map((sample) => (sample.descriptor_limit === 0 ? 0 : sample.descriptors / sample.descriptor_limit)),
    );
    weigh(
      used,
      LIMITS.descriptors,
      `${worker}: ${percent(used)} of its file descriptors in use; raise 'ulimit -n' or use more --workers`,
    );
  }
  if (exhausted > 0) {
    found.push({
      verdict: 'invalid',
      reason: `${exhausted} actions failed for want of local descriptors, ports or buffers; raise 'ulimit -n', use more --workers, or --shard over more machines`,
    });
  }
  if (found.length > 0 && crowded.length > 0) {
    const reason = `workers waited for a processor (${crowded.join(', ')}): something else was using this machine, or there are more workers than cores`;
    found.push({ verdict: 'valid', reason });
  }
  return { verdict: worst(found.map(({ verdict }) => verdict)), reasons: found.map(({ reason }) => reason) };
}

export function worst(verdicts: readonly Verdict[]): Verdict {
  return VERDICTS[Math.max(0, ...verdicts.map((verdict) => VERDICTS.indexOf(verdict)))] ?? 'valid';
}
