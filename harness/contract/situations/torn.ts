/** Frames that end before they are whole. */
import { frame, type SentEvent } from './events.ts';

export interface TornFrame {
  summary: string;
  /** What of the frame still comes. */
  piece(event: SentEvent): string;
  last: 'cut' | 'end';
}

export const TORN = {
  id: { summary: 'Ends the stream in the id of the third event.', piece: () => 'id: 10', last: 'end' },
  'id-line': {
    summary: 'Cuts the connection after the id line of the third event.',
    piece: ({ id }) => `id: ${id}\n`,
    last: 'cut',
  },
  data: {
    summary: 'Cuts the connection in the data of the third event.',
    piece: (event) => frame(event).slice(0, 120),
    last: 'cut',
  },
  'data-line': {
    summary: 'Ends the stream before the empty line of the third event.',
    piece: (event) => frame(event).slice(0, -1),
    last: 'end',
  },
} as const satisfies Record<string, TornFrame>;
