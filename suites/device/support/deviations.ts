/** Known deviations that later checks tolerate, so that each causes only one finding. */
import type { OpenEvents } from '../../../harness/client/sse.ts';
import type { SseFrame } from '../../../harness/client/sse-parser.ts';
import { parseObject } from '../../../harness/common/lenient.ts';
import type { Deviation } from '../../../harness/runner/session.ts';
import type { Device } from './check.ts';
import { carriesNoEvent, DECIMAL, integerIn, isId } from './events.ts';

const deviation = (name: string, allowance: string): Deviation => ({ name, allowance });

export const CONTENT_TYPE_ODD = deviation('content-type-odd', 'the content type of a stream is not looked at');
export const CURSOR_REPEATED = deviation('cursor-repeated', 'the event of the cursor is left out of a replay');
export const HEADER_IGNORED = deviation('header-ignored', 'the cursor is sent as after, not as Last-Event-ID');
export const TYPES_IGNORED = deviation('types-ignored', 'events of types that were not asked for are left out');
export const FRAME_ODD = deviation('frame-odd', 'the id and the type of an event are taken from its envelope');

export function allowing(t: Device, options: OpenEvents): OpenEvents {
  const { lastEventId, ...rest } = options;
  const { after, types } = rest;
  const asQuery = after === undefined && lastEventId !== undefined && t.allowsFor(HEADER_IGNORED);
  const cursor = after ?? lastEventId;
  return {
    ...(asQuery ? { ...rest, after: lastEventId } : options),
    read: (given) => {
      const frame = withEnvelopeFields(t, given);
      const isCursor = cursor !== undefined && isId(frame.id, cursor);
      if (isCursor && t.allowsFor(CURSOR_REPEATED)) return undefined;
      const isOther = types !== undefined && frame.event !== undefined && !types.includes(frame.event);
      return isOther && t.allowsFor(TYPES_IGNORED) ? undefined : frame;
    },
  };
}

function withEnvelopeFields(t: Device, frame: SseFrame): SseFrame {
  const isWhole = DECIMAL.test(frame.id ?? '') && (frame.event ?? '') !== '';
  if (carriesNoEvent(frame) || isWhole || !t.allowsFor(FRAME_ODD)) return frame;
  const text = frame.data ?? '';
  const type = parseObject(text)?.['type'];
  const id = String(integerIn(text, 'id') ?? frame.id ?? '');
  const event = typeof type === 'string' ? type : (frame.event ?? '');
  const others = frame.fields.filter(({ name }) => name !== 'id' && name !== 'event');
  return { ...frame, id, event, fields: [{ name: 'id', value: id }, { name: 'event', value: event }, ...others] };
}
