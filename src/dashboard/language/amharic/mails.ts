import type { mails as english } from '../english/mails.ts';

export const mails: typeof english = {
  invitation: {
    subject: (place) => `ወደ ${place} ተጋብዘዋል`,
    text: (link, until) => `ጤና ይስጥልኝ፣

ወደ Gatehouse ዳሽቦርድ ተጋብዘዋል። ግብዣውን እዚህ ይቀበሉ፦

${link}

ሊንኩ የሚያገለግለው አንድ ጊዜ ብቻ ሲሆን እስከ ${until} ይሠራል። ያልጠበቁት ከሆነ ምንም ማድረግ አያስፈልግዎትም።
`,
  },
  reset: {
    subject: 'አዲስ የይለፍ ቃል ይምረጡ',
    text: (link, until) => `ጤና ይስጥልኝ፣

ለGatehouse ዳሽቦርድ መለያዎ አዲስ የይለፍ ቃል ተጠይቋል። የጠየቁት እርስዎ ከሆኑ እዚህ ይምረጡ፦

${link}

ሊንኩ የሚያገለግለው አንድ ጊዜ ብቻ ሲሆን እስከ ${until} ይሠራል። እርስዎ ካልሆኑ ምንም ማድረግ አያስፈልግዎትም፤
የይለፍ ቃልዎ እንዳለ ይቆያል።
`,
  },
};
