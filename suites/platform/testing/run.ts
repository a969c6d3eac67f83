/** Runs the suite against a base URL, as `muster check platform` does. For tests. */

import { HttpClient } from '../../../harness/client/http.ts';
import type { Recorder } from '../../../harness/client/recorder.ts';
import { Redactor } from '../../../harness/client/redact.ts';
import { defined } from '../../../harness/common/defined.ts';
import { DIALECT_NAMES, NEWEST_VERSION, SUPPORTED_CODENAMES } from '../../../harness/contract/versions.ts';
import { makePlan } from '../../../harness/runner/plan.ts';
import { runSuite } from '../../../harness/runner/run.ts';
import type { Capability, CheckResult, Outcome, Report } from '../../../harness/runner/types.ts';
import { platformSuite } from '../index.ts';

export interface TestTarget {
  /** Ends in `/beta`. */
  url: string;
  apiKey: string;
  limitedKey?: string;
  onlineDevice?: string;
  offlineDevice?: string;
  apiVersion?: string;
  capabilities?: readonly Capability[];
}

export interface TestRun {
  only?: readonly string[];
  readOnly?: boolean;
  fast?: boolean;
  seed?: number;
  patienceMs?: number;
  /** Multiplier of the runs of every property. */
  runs?: number;
}

export const EVERYTHING: readonly Capability[] = ['write', 'seed-data', ...SUPPORTED_CODENAMES];

export async function runPlatformSuite(target: TestTarget, run: TestRun = {}): Promise<Report> {
  const { versionHeader } = DIALECT_NAMES.spec;
  const apiVersion = target.apiVersion ?? NEWEST_VERSION;
  const url = new URL(target.url);
  const capabilities = new Set<Capability>(target.capabilities ?? EVERYTHING);
  if (target.limitedKey !== undefined) capabilities.add('limited-key');
  if (target.onlineDevice !== undefined) capabilities.add('online-device');
  if (target.offlineDevice !== undefined) capabilities.add('offline-device');
  const redactor = new Redactor();
  redactor.add(target.apiKey);
  const http = new HttpClient({
    endpoint: { origin: url.origin },
    basePath: url.pathname,
    headers: { 'x-api-key': target.apiKey, [versionHeader.toLowerCase()]: apiVersion },
  });
  try {
    return await runSuite(platformSuite, {
      plan: makePlan(platformSuite, { capabilities, ...run }),
      target: { kind: 'test', address: target.url, capabilities: [...capabilities], control: 'none' },
      context: (recorder: Recorder, signal) => ({
        http: http.with({ recorder, signal }),
        versionHeader,
        apiVersion,
        apiKey: target.apiKey,
        limitedKey: target.limitedKey,
        capabilities,
        onlineDevice: target.onlineDevice,
        offlineDevice: target.offlineDevice,
        readOnly: run.readOnly ?? false,
        patienceMs: run.patienceMs ?? 10_000,
      }),
      redactor,
      seed: run.seed ?? 1,
      version: '0',
      ...defined({ runs: run.runs }),
    });
  } finally {
    await http.close();
  }
}

/** `id outcome: why`, for every check with one of the outcomes. */
export function lines(report: Report, outcomes: readonly Outcome[]): string[] {
  return report.checks.filter(({ outcome }) => outcomes.includes(outcome)).map(line);
}

function line({ id, outcome, expected, actual, reason }: CheckResult): string {
  return `${id} ${outcome}: ${reason ?? `expected ${expected}; actual: ${actual}`}`;
}
