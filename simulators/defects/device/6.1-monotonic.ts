import type { StoredEvent } from '../../device/log/line.ts';
import { defect, variant } from '../define-device.ts';

const MONOTONIC = ['device.events.monotonic'];

export const defects = [
  defect('batch-reversed', 'Delivers the events of one commit newest first.', MONOTONIC, {
    stream: { session: () => ({ live: (events) => events.toReversed() }) },
  }),
  defect(
    'cursor-moves-back',
    'Repeats an older event behind a newer one, which moves the cursor of a client back.',
    MONOTONIC,
    {
      stream: {
        session: () => {
          let before: StoredEvent | undefined;
          return {
            live: (events) => {
              const repeated = before ? [...events, before] : events;
              before = events.at(-1);
              return repeated;
            },
          };
        },
      },
    },
  ),
  defect('ids-shared-by-two', 'Gives every two events the same id, as too coarse a clock would.', MONOTONIC, {
    stream: ({ frame }) => ({
      frame: (event) => {
        const id = event.id + (event.id % 2);
        return frame({ ...event, id, json: event.json.replace(`"id":${event.id}`, `"id":${id}`) });
      },
    }),
  }),
];

export const variants = [
  variant('ids-start-high', 'Starts ids at a million.', {
    log: ({ highest }) => ({
      highest: (last, mark, damaged) => Math.max(highest(last, mark, damaged), 1_000_000),
    }),
  }),
  variant('ids-with-gaps', 'Leaves gaps between ids: the specification only asks that they increase.', {
    log: { idStep: 7 },
  }),
];
