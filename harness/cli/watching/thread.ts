import { workerData } from 'node:worker_threads';
import { serveJudge } from '../../watch/judge-thread.ts';
import { type PlainJudged, TrafficJudge } from '../../watch/judging.ts';
import { type RecordingHead, recordTo } from '../../watch/recording.ts';
import type { ServerAddress } from '../../watch/traffic.ts';
import { serverRules, type TransportKind, type WatchedApi, watchSuite } from './suite.ts';

export interface ThreadData {
  api: WatchedApi;
  way: TransportKind;
  place: ServerAddress;
  /** True for a sample of answers: only rules of the server's suite judge it, and every violation is counted. */
  sample?: boolean;
  shown?: readonly string[];
  record?: { path: string; limit: number; head: Omit<RecordingHead, 'part'> };
}

const { api, way, place, record, sample: counts = false, shown } = workerData as ThreadData;
const { checks } = counts ? await serverRules(api) : await watchSuite(api, way);

serveJudge((report) => {
  const found = (id: string, judged: PlainJudged): void => {
    const { level, text } = checks.find((check) => check.id === id)?.requirement ?? { level: 'INFO', text: '' };
    report({ kind: 'found', id, judged, requirement: { level, text } });
  };
  const judge = new TrafficJudge({ checks, place, found, counts, ...(shown && { chosen: new Set(shown) }) });
  const { redactor } = judge;
  const trouble = (why: string): void => report({ kind: 'trouble', why });
  return {
    judge,
    ...(record !== undefined && { keeping: recordTo({ ...record, redactor, trouble }) }),
    isShown: shown !== undefined,
  };
});
