import type { notices as english } from '../english/notices.ts';

export const notices: typeof english = {
  subject: 'ስለ Gatehouse መለያዎ የደህንነት ማሳወቂያ',
  events: {
    NEW_PASSWORD_ASKED: (when) => `${when}፦ ኦፕሬተር ለመለያዎ የአዲስ የይለፍ ቃል ሊንክ ጠይቋል።`,
    NEW_PASSWORD_APPROVED: (when) => `${when}፦ ሁለት ኦፕሬተሮች ለመለያዎ የአዲስ የይለፍ ቃል ሊንክ እንዲዘጋጅ ተስማምተዋል።`,
    PASSWORD_RESET: (when) => `${when}፦ ለመለያዎ በሊንክ አዲስ የይለፍ ቃል ተቀምጧል።`,
    SECOND_FACTOR_REMOVAL_ASKED: (when) => `${when}፦ ኦፕሬተር የመለያዎ የአንድ ጊዜ ኮድ እንዲወገድ ጠይቋል።`,
    SECOND_FACTOR_REMOVED: (when) => `${when}፦ ሁለት ኦፕሬተሮች የመለያዎን የአንድ ጊዜ ኮድ አስወግደዋል።`,
    OWNER_INVITED: (when, merchant) => `${when}፦ ኦፕሬተር ወደ ${merchant} ሌላ ባለቤት ጋብዟል፣ ወይም አንድን አባል ባለቤት አድርጓል።`,
  },
  advice: 'ይህን ካልጠበቁት የክፍያ ጌትዌዩን ኦፕሬተሮች ወዲያውኑ ያሳውቁ።',
  mail: (what) => `ጤና ይስጥልኝ፣

${what}

ይህን ካልጠበቁት የክፍያ ጌትዌዩን ኦፕሬተሮች ከዚህ ኢሜይል ውጭ በሆነ መንገድ ወዲያውኑ ያሳውቁ።
`,
};
