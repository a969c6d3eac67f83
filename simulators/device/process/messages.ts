/** What a supervisor and the agent process below it say to each other. */
import type { ControlDeployment } from '../../../harness/contract/control.ts';
import type { PlaceOption } from '../start-error.ts';

export type Call =
  | { id: number; op: 'deploy'; wanted: ControlDeployment }
  | { id: number; op: 'remove'; deployment: string }
  | { id: number; op: 'publish'; count: number }
  | { id: number; op: 'compact' };

export interface Ready {
  ready: true;
  device_id: string;
  /** Where it serves: `socket`, `discovery`, `url`. */
  [address: string]: string | true;
}

export type Reply =
  | { kind: 'ready'; ready: Ready }
  | { kind: 'broken'; message: string; option?: PlaceOption }
  | { kind: 'result'; id: number; value: unknown }
  | { kind: 'error'; id: number; status: number; code: string; message: string };
