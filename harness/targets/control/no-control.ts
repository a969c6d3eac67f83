/** A black box: nothing can make the target do anything. */
import { type Control, ControlError } from './control.ts';

const refuse = (): Promise<never> =>
  Promise.reject(new ControlError('the target has no control: give --control, or commands in a target file'));

export const noControl: Control = {
  kind: 'none',
  info: () => Promise.resolve({ capabilities: [] }),
  deploy: refuse,
  remove: refuse,
  publish: refuse,
  compact: refuse,
  stop: refuse,
  start: refuse,
  close: () => Promise.resolve(),
};
