const words = [
  {
    language: 'en',
    title: 'Your browser sent too many cookies',
    body: 'Delete the cookies of this website in your browser, and open the page again.',
  },
  {
    language: 'am',
    title: 'ብራውዘርዎ በጣም ብዙ ኩኪዎች (cookie) ልኳል',
    body: 'በብራውዘርዎ ውስጥ የዚህን ድረ-ገጽ ኩኪዎች ያጥፉና ገጹን እንደገና ይክፈቱ።',
  },
] as const;

/**
 * The answer to a browser whose request has larger headers than Node reads: 16 KiB. Another site of the same domain can set such cookies.
 * The headers with the language were not read, so the page has each language. It has no assets, because they would be refused as well.
 */
export const tooLargePage = `<!doctype html>
<html lang="${words[0].language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${words[0].title}</title>
</head>
<body>
<main>
${words.map(({ language, title, body }) => `<section lang="${language}">\n<h1>${title}</h1>\n<p>${body}</p>\n</section>`).join('\n')}
</main>
</body>
</html>
`;
