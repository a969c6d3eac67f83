import type { OutgoingHttpHeaders } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import type { LiveSubscriber } from '../../device/behaviour.ts';
import type { StoredEvent } from '../../device/log/line.ts';
import { answered, asksForEvents, type DeviceChanges, defect, onSome, variant, whenOver } from '../define-device.ts';

const servesAtOnce = (most: number, refusal: OutgoingHttpHeaders) => (): DeviceChanges => {
  let open = 0;
  return {
    http: onSome((request, response) => {
      if (!asksForEvents(request)) return false;
      if (open >= most) return answered(response, 503, { 'Content-Length': 0, ...refusal });
      open += 1;
      whenOver(request, response, () => void open--);
      return false;
    }),
  };
};

export const defects = [
  defect('one-subscriber', 'Serves live events to the newest subscriber only.', ['device.events.concurrent'], {
    stream: { recipients: (live) => [...live].slice(-1) },
  }),
  defect('subscribers-take-turns', 'Gives each event to one subscriber, in turn.', ['device.events.concurrent'], () => {
    let turn = 0;
    return {
      stream: {
        recipients: (live) => {
          const at = turn++ % Math.max(1, live.size);
          return [...live].slice(at, at + 1);
        },
      },
    };
  }),
  defect(
    'newest-waits-for-the-next',
    'Sends a live event only once the next one is published.',
    ['device.events.concurrent'],
    {
      stream: {
        session: () => {
          let held: readonly StoredEvent[] = [];
          return {
            live: (events) => {
              const due = [...held, ...events];
              held = due.splice(-1);
              return due;
            },
          };
        },
      },
    },
  ),
  defect(
    'slow-reader-blocks',
    'Waits for the slowest subscriber before anyone gets the next event.',
    ['device.events.slow-reader'],
    () => {
      let subscribers: Iterable<LiveSubscriber> = [];
      let turn = Promise.resolve();
      return {
        stream: {
          liveBufferBytes: Number.MAX_SAFE_INTEGER,
          recipients: (live) => {
            subscribers = live;
            return live;
          },
        },
        log: {
          publish: async ({ store, commit, deliver }) => {
            await store();
            commit();
            turn = turn.then(async () => {
              while ([...subscribers].some(({ waiting }) => waiting > 0))
                await setTimeout(20, undefined, { ref: false });
              deliver();
            });
          },
        },
      };
    },
  ),
  defect(
    'slow-reader-thinned-out',
    'Leaves out every other batch for a subscriber that does not read fast enough.',
    ['device.events.slow-reader.complete'],
    () => {
      const skipped = new WeakSet<object>();
      return {
        stream: {
          liveBufferBytes: Number.MAX_SAFE_INTEGER,
          recipients: (live) =>
            [...live].filter((subscriber) => {
              if (subscriber.waiting === 0 || skipped.delete(subscriber)) return true;
              skipped.add(subscriber);
              return false;
            }),
        },
      };
    },
  ),
  defect(
    'deployed-once-a-release',
    'Publishes no event for a release that was deployed before.',
    ['device.events.concurrent'],
    () => {
      const releases = new Set<string>();
      return {
        deployments: {
          announce: (events, { kind, deployment }) => {
            const isKnown = releases.has(deployment.release_id);
            if (kind === 'entered') releases.add(deployment.release_id);
            return kind === 'entered' && isKnown ? [] : events;
          },
        },
      };
    },
  ),
];

export const variants = [
  variant(
    'one-stream',
    'Serves one event stream at once, and answers others with 503: the specification shows no limit.',
    servesAtOnce(1, {}),
  ),
  variant(
    'few-streams',
    'Serves two event streams at once, and answers others with 503: the specification shows no limit.',
    servesAtOnce(2, {}),
  ),
  variant(
    'few-streams-retry-after',
    'Serves four event streams at once, and asks others to come back in a second: the specification shows no limit.',
    servesAtOnce(4, { 'Retry-After': '1' }),
  ),
];
