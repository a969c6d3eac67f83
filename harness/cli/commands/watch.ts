import { exitCodesText } from '../../common/usage.ts';
import { type Command, command, type OptionTable } from '../options.ts';
import { type WatchArguments, watchDeviceOptions, watchPlatformOptions } from '../watching/options.ts';
import type { WatchedApi } from '../watching/suite.ts';

const watchCommand = <const T extends OptionTable>(api: WatchedApi, shown: Pick<Command<T>, 'options' | 'examples'>) =>
  command({
    ...shown,
    epilogue:
      'Once clients can connect, it writes one line of JSON to stdout. It forwards every byte unchanged, and judges ' +
      'a copy: traffic goes on even if the judging fails. Findings are written to stderr as they come, and a signal ' +
      'ends the watch, which then writes the report. Another SIGINT or SIGTERM, a second or more later, ends it ' +
      'immediately, without a report, with exit code 129, 130 or 143.' +
      `\n\nExit codes: ${exitCodesText('watch')}.`,
    async run(args) {
      const { watchTraffic } = await import('../watching/watching.ts');
      return await watchTraffic(api, args as unknown as WatchArguments);
    },
  });

export const watchDevice = watchCommand('device', {
  options: watchDeviceOptions,
  examples: [
    ['muster watch device --socket /run/agent.sock --listen /run/watched.sock', 'between an agent and its clients'],
    ['muster watch device --discovery agent.json --listen watched.json', 'the same on loopback TCP'],
    ['muster watch device --socket a.sock --listen w.sock --record day.jsonl', 'and keep what was seen'],
    ['muster watch device --socket a.sock --listen w.sock --ui', 'with a page of what is seen and found'],
    ['muster watch device --replay day.jsonl --report html=day.html', 'judge it again'],
  ],
});

export const watchPlatform = watchCommand('platform', {
  options: watchPlatformOptions,
  examples: [
    ['muster watch platform --url http://127.0.0.1:8080/beta --listen 9090', 'between a platform and its clients'],
    ['muster watch platform --url https://api.example.com/beta --listen 9090 --max-time 1h', 'for an hour'],
    ['muster watch platform --replay browser.har --url https://api.example.com/beta', 'what another tool has recorded'],
  ],
});
