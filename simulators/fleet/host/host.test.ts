import { expect, it } from 'vitest';
import { addFailure, type FailedAction, failureText } from './host.ts';

const failed = (kind: string, robot: string, message: string): FailedAction => ({ kind, robot, message, count: 1 });

it('failures that differ only in the robot are counted together, others kept', () => {
  const failures: FailedAction[] = [];
  for (let robot = 0; robot < 1200; robot += 1) addFailure(failures, failed('ping', `robot-${robot}`, 'HTTP 500'));
  for (const kind of ['list', 'ping']) addFailure(failures, failed(kind, 'robot-1', 'HTTP 503'));
  expect(failures.map(failureText)).toEqual([
    'ping of robot-0: HTTP 500 (1,200 times)',
    'list of robot-1: HTTP 503',
    'ping of robot-1: HTTP 503',
  ]);
  for (let other = 0; other < 9; other += 1) addFailure(failures, failed('read', 'robot-1', `HTTP 40${other}`));
  expect(failures).toHaveLength(5);
});
