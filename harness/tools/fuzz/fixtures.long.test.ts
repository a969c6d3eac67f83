import { replayFinds } from './testing/replay.ts';

replayFinds({ slow: true });
