/** One line of `npm run bench`: a measurement against the floor measured in the same run. */
export interface Figure {
  name: string;
  value: number;
  /** What the machine does at best, in the same unit; absent where a goal is absolute. */
  floor?: number;
  /** `value / floor`. */
  ratio?: number;
  /** The goal in words, e.g. `≥ 0.9 × floor`. */
  goal: string;
  unit: string;
  met: boolean;
}
