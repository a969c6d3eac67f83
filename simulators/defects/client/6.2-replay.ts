/** Defects of clients that lose events of a long replay. */
import { defect } from '../define-client.ts';

const ROOM = 200;

export const defects = [
  defect('replay-cut-short', 'Takes 200 events of a connection.', ['client.delivery.long-replay'], {
    stream: ({ isDispatched }) => {
      let left = ROOM;
      return {
        isDispatched: (block, lines) => {
          if (!isDispatched(block, lines)) return false;
          left -= 1;
          return left >= 0;
        },
      };
    },
  }),
];

export const variants = [];
