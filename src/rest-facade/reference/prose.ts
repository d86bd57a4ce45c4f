/** A part of a paragraph: words, or a name in code. */
export interface ProsePart {
  readonly text: string;
  readonly isCode: boolean;
}

/** The paragraphs of a description. Descriptions use two marks of Markdown: empty lines, and backticks around code. */
export function paragraphsOf(description: string): readonly (readonly ProsePart[])[] {
  return description.split(/\n{2,}/).map((paragraph) =>
    paragraph
      .split('`')
      .map((text, index) => ({ text, isCode: index % 2 === 1 }))
      .filter(({ text }) => text !== ''),
  );
}
