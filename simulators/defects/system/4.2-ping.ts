import { defect } from '../define-platform.ts';

export const defects = [
  defect(
    'ping-not-sent',
    'Answers every ping at once, without asking the device.',
    ['system.ping'],
    { pingAnswer: () => ({ status: 200, body: { code: 'timeout' } }) },
    { tells: /code "success" from the device, which is online.*"code":"timeout"/ },
  ),
  defect(
    'ping-answered-in-its-place',
    'Answers pings itself, whether the device is online or not.',
    ['system.ping'],
    { ping: async () => ({ code: 'success', round_trip_nanos: 1_000_000 }) },
    { tells: /no success from a device that is offline.*"code":"success"/ },
  ),
];
