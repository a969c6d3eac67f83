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
  /** The exit code: 0, 1 when it may not follow, 2 when that is not decided. */
  code: number;
  meaning: string;
}

/** The verdict of a gate. */
export function verdictOf({ regressions, undecided, behaviour }: Changes, gate: Gate): GateVerdict {
  const held = regressions.length === 0 ? 'nothing that held has failed' : `${holds(regressions.length)} no longer`;
  if (gate === 'none') return { word: 'COMPARED', code: EXIT.conformant, meaning: `${held}; --gate was not given` };
  if (regressions.length > 0) return { word: 'REGRESSED', code: EXIT.nonconformant, meaning: held };
  if (gate === 'behaviour' && behaviour.length > 0) {
    const meaning = `${plural(behaviour.length, 'choice')} changed where the specification is silent`;
    return { word: 'CHANGED', code: EXIT.nonconformant, meaning };
  }
  if (undecided.length > 0) {
    const meaning = `${plural(undecided.length, 'check')} passed before and ${undecided.length === 1 ? 'is' : 'are'} blocked now`;
    return { word: 'UNDECIDED', code: EXIT.incomplete, meaning };
  }
  return { word: 'NO REGRESSION', code: EXIT.conformant, meaning: held };
}

const holds = (count: number): string => `${plural(count, 'requirement')} ${count === 1 ? 'holds' : 'hold'}`;
