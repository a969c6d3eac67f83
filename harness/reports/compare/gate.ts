/** Whether the last of the compared entries may follow the one before it. */
import { EXIT } from '../../common/usage.ts';
import { plural } from '../groups.ts';
import type { Changes } from './comparison.ts';

/** What `--gate` takes. */
export const GATES = ['none', 'regressions', 'behaviour'] as const;
/** `regressions`: what held must hold. `behaviour`: and no choice may change where the specification is silent. */
export type Gate = (typeof GATES)[number];

/** What a gate makes of the changes. */
export interface GateVerdict {
  word: 'COMPARED' | 'NO REGRESSION' | 'REGRESSED' | 'CHANGED' | 'UNDECIDED';
  /** `warn` where nothing was asked for and something no longer holds. */
  tone: 'pass' | 'warn' | 'fail';
  /** The exit code: 0, 1 when it may not follow, 2 when that is not decided. */
  code: number;
  meaning: string;
}

/** The verdict of a gate. */
export function verdictOf({ regressions, undecided, behaviour }: Changes, gate: Gate): GateVerdict {
  const broken = regressions.length > 0;
  const held = broken ? `${holds(regressions.length)} no longer` : 'nothing that held has failed';
  if (gate === 'none') {
    const meaning = `${held}; --gate was not given`;
    return { word: 'COMPARED', tone: broken ? 'warn' : 'pass', code: EXIT.conformant, meaning };
  }
  if (broken) return { word: 'REGRESSED', tone: 'fail', code: EXIT.nonconformant, meaning: held };
  if (gate === 'behaviour' && behaviour.length > 0) {
    const meaning = `${plural(behaviour.length, 'choice')} changed where the specification is silent`;
    return { word: 'CHANGED', tone: 'fail', code: EXIT.nonconformant, meaning };
  }
  if (undecided.length > 0) {
    const meaning = `${plural(undecided.length, 'check')} passed before and ${undecided.length === 1 ? 'is' : 'are'} blocked now`;
    return { word: 'UNDECIDED', tone: 'fail', code: EXIT.incomplete, meaning };
  }
  return { word: 'NO REGRESSION', tone: 'pass', code: EXIT.conformant, meaning: held };
}

const holds = (count: number): string => `${plural(count, 'requirement')} ${count === 1 ? 'holds' : 'hold'}`;
