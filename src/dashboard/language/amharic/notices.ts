import type { notices as english } from '../english/notices.ts';

export const notices: typeof english = {
  subject: 'በGatehouse መለያዎ ላይ ለውጥ ነበር',
  events: {
    NEW_PASSWORD_ASKED: (when) => `${when}፦ ኦፕሬተር ለመለያዎ የአዲስ የይለፍ ቃል ሊንክ ጠይቋል።`,
    NEW_PASSWORD_APPROVED: (when) => `${when}፦ ሁለት ኦፕሬተሮች ለመለያዎ የአዲስ የይለፍ ቃል ሊንክ እንዲዘጋጅ ተስማምተዋል።`,
    PASSWORD_RESET: (when) => `${when}፦ ለመለያዎ በሊንክ አዲስ የይለፍ ቃል ተቀምጧል።`,
    SECOND_FACTOR_REMOVAL_ASKED: (when) => `${when}፦ ኦፕሬተር የመለያዎ የአንድ ጊዜ ኮድ እንዲወገድ ጠይቋል።`,
    SECOND_FACTOR_REMOVED: (when) => `${when}፦ ሁለት ኦፕሬተሮች የመለያዎን የአንድ ጊዜ ኮድ አስወግደዋል።`,
    OWNER_INVITED: (when, merchant) => `${when}፦ ኦፕሬተር ወደ ${merchant} ሌላ ባለቤት ጋብዟል።`,
  },
  advice: 'ይህን ካልጠበቁት የመግቢያውን ኦፕሬተሮች ወዲያውኑ ያሳውቁ።',
  mail: (what) => `ጤና ይስጥልኝ፣

${what}

ይህን ካልጠበቁት የመግቢያውን ኦፕሬተሮች ከዚህ ኢሜይል ውጭ በሆነ መንገድ ወዲያውኑ ያሳውቁ።
`,
};
