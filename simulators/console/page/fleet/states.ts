/** The letters of robots in the document, what they mean, and their colours. */
export interface State {
  letter: string;
  label: string;
  /** Name of a colour of the page. */
  colour: string;
}

export const STATES: readonly State[] = [
  { letter: 'u', label: 'reached', colour: 'good' },
  { letter: 'o', label: 'online', colour: 'online' },
  { letter: 'p', label: 'being rolled out', colour: 'warn' },
  { letter: 'm', label: 'missed', colour: 'bad' },
  { letter: 'c', label: 'connecting', colour: 'joining' },
  { letter: '.', label: 'waiting', colour: 'idle' },
  { letter: 'x', label: 'cut off', colour: 'cut' },
  { letter: 'd', label: 'down', colour: 'down' },
  { letter: 'r', label: 'refused', colour: 'bad' },
  { letter: 's', label: 'stopped', colour: 'soft' },
];

export const labelOf = (letter: string | undefined): string =>
  STATES.find((state) => state.letter === letter)?.label ?? 'unknown';

/** How many robots are in each state that occurs. */
export function countsOf(states: string): { state: State; robots: number }[] {
  const counts = new Map<string, number>();
  for (const letter of states) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  return STATES.flatMap((state) => {
    const robots = counts.get(state.letter) ?? 0;
    return robots === 0 ? [] : [{ state, robots }];
  });
}
