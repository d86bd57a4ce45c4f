const maxNotes = 16;
const maxLength = 800;

/**
 * Adds the note of a callback to those that are stored. A repeated note is stored once. A note that is too long, or has a
 * NUL, is left out, because a part of it could mislead, and the oldest one makes room for the 17th.
 */
export function withNote(notes: readonly string[], note: string): string[] {
  if (note === '' || note.length > maxLength || note.includes('\0') || notes.includes(note))
    return [...notes];
  return [...notes, note].slice(-maxNotes);
}
