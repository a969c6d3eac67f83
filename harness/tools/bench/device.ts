/** Figures of the simulated device, each beside the floor that the same run measured. */
import { appending } from './device-append.ts';
import { delivering } from './device-delivery.ts';
import { idling } from './device-idle.ts';
import { opening } from './device-open.ts';
import type { Figure } from './figure.ts';

export async function benchDevice(): Promise<Figure[]> {
  const figures: Figure[] = [];
  // One after the other: they would disturb each other.
  for (const measure of [delivering, appending, opening, idling]) figures.push(...(await measure()));
  return figures;
}
