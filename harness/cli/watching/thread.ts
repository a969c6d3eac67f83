/** The entry of the thread that judges traffic. */
import { workerData } from 'node:worker_threads';
import type { AskedPlace } from '../../watch/asked.ts';
import { Glance } from '../../watch/glance.ts';
import { serveJudge } from '../../watch/judge-thread.ts';
import { TrafficJudge } from '../../watch/judging.ts';
import type { RecordingHead } from '../../watch/recorded.ts';
import { recordTo } from '../../watch/recording.ts';
import { type WatchedApi, type Way, watchSuite } from './suite.ts';

/** What it is told. */
export interface ThreadData {
  api: WatchedApi;
  way: Way;
  place: AskedPlace;
  /** Whether a page shows how it stands. */
  isShown: boolean;
  record?: { path: string; limit: number; head: Omit<RecordingHead, 'part'> };
}

const { api, way, place, record, isShown } = workerData as ThreadData;
const { checks } = await watchSuite(api, way);

serveJudge((report) => {
  const judge = new TrafficJudge({ checks, place, found: (id, judged) => report({ kind: 'found', id, judged }) });
  const { redactor } = judge;
  const trouble = (why: string): void => report({ kind: 'trouble', why });
  return {
    judge,
    ...(record !== undefined && { keeping: recordTo({ ...record, redactor, trouble }) }),
    ...(isShown && { glance: new Glance(redactor) }),
  };
});
