/** A part of a path without its percent-encoding; as it stands when that is wrong, since no resource is called so. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
