/**
 * Retries of findings, alone, before the run ends, as `muster replay` would. Whether a finding comes every time,
 * sometimes, or only beside other requests shows where to look for its cause. A retry never excuses a failure.
 */
import { readableDuration } from '../common/durations.ts';
import { isDecided } from './attempts.ts';
import { leadsFirst } from './causes.ts';
import { runOverReason } from './check-result.ts';
import type { Tries } from './plan.ts';
import type { CheckResult } from './types.ts';

const SHARE_OF_THE_RUN = 1 / 3;

export interface RetryOptions {
  tries: Tries;
  /** Milliseconds since the run began. */
  elapsedMs: number;
  /** Aborts at the end of the run. */
  signal: AbortSignal;
  retry(finding: CheckResult, signal: AbortSignal): Promise<CheckResult>;
}

/**
 * Retries all leading findings once, the most telling first, then once more, as long as time is left.
 * @param found results after grouping by cause
 * @returns reasons, by id, of the findings that were not retried
 */
export async function retryFindings(found: readonly CheckResult[], trying: RetryOptions): Promise<Map<string, string>> {
  const { tries, elapsedMs, signal, retry } = trying;
  const why = new Map<string, string>();
  for (const { id, consequence_of: cause } of found) if (cause !== undefined) why.set(id, `may follow from ${cause}`);
  const leads = leadsFirst(found);
  const budgetMs = Math.min(tries.mostMs, Math.max(tries.leastMs, elapsedMs * SHARE_OF_THE_RUN));
  const end = performance.now() + budgetMs;
  const late = AbortSignal.timeout(Math.ceil(budgetMs));
  const over = AbortSignal.any([signal, late]);
  const decided = new Set<string>();
  const refuse = (id: string, reason: string): void => void (decided.has(id) || why.set(id, reason));
  for (let time = 0; time < tries.times; time += 1) {
    for (const lead of leads) {
      const reason = reasonNotToRetry(lead, signal, end);
      if (reason !== undefined) {
        refuse(lead.id, reason);
        continue;
      }
      const result = await retry(lead, over);
      if (isDecided(result)) {
        decided.add(lead.id);
        why.delete(lead.id);
      } else
        refuse(
          lead.id,
          over.aborted ? (whyRunIsOver(signal) ?? NO_TIME) : `undecided when it was tried: ${result.reason}`,
        );
    }
  }
  return why;
}

const NO_TIME = 'no time left';

/** The run of the counterexample alone is cheaper than the search for it. */
function reasonNotToRetry(
  { path, duration_ms: tookMs }: CheckResult,
  signal: AbortSignal,
  end: number,
): string | undefined {
  const over = whyRunIsOver(signal);
  if (over !== undefined) return over;
  const leftMs = end - performance.now();
  if (leftMs <= 0) return NO_TIME;
  return path === undefined && tookMs > leftMs ? `${NO_TIME}: it takes ${readableDuration(tookMs)}` : undefined;
}

const whyRunIsOver = (signal: AbortSignal): string | undefined =>
  signal.aborted ? `the run was over: ${runOverReason(signal).reason}` : undefined;
