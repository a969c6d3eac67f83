/** A certificate and its key, PEM. For tests. */
export interface Certificate {
  cert: string;
  key: string;
}
