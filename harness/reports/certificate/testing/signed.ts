import { generateKeyPairSync } from 'node:crypto';
import type { CheckResult, Report } from '../../../runner/types.ts';
import { sampleReport, sampleResult } from '../../testing/samples.ts';
import { sealEnvelope } from '../envelope.ts';
import { type Statement, statementOf } from '../statement.ts';

export const { publicKey, privateKey } = generateKeyPairSync('ed25519');
export const suites = { sha256: 'a'.repeat(64), files: 9, form: 'source' } as const;

export const good: CheckResult[] = [
  sampleResult({ id: 'device.a' }),
  sampleResult({ id: 'device.b', outcome: 'warn', level: 'SHOULD' }),
  sampleResult({
    id: 'device.c',
    outcome: 'not_applicable',
    reason: 'needs loopback, which the target does not declare',
  }),
];
export const complete = (checks = good, change: Partial<Report> = {}): Report =>
  sampleReport(checks, { complete: true, ...change });
export const LASTING = { validUntil: '2999-12-31' };
export const certificate = (report = complete()): string =>
  sealEnvelope(Buffer.from(JSON.stringify(statementOf(report, suites, LASTING))), privateKey);
export const forged = (change: (statement: Statement) => unknown): string => {
  const made = statementOf(complete(), suites, LASTING);
  change(made);
  return sealEnvelope(Buffer.from(JSON.stringify(made)), privateKey);
};
