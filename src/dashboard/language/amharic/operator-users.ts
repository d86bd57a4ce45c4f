import type { operatorUsers as english } from '../english/operator-users.ts';

export const operatorUsers: typeof english = {
  title: 'ተጠቃሚዎች',
  lead: 'ይህን የክፍያ ጌትዌይ የሚያስተዳድሩ። ኦፕሬተሮች ሁሉንም ነጋዴዎች ያያሉ፤ የማንም አባል አይደሉም። የነጋዴው ሰዎች በቡድኑ ገጽ ይገኛሉ።',
  invite: {
    title: 'ኦፕሬተር ይጋብዙ',
    already: 'ይህ አድራሻ ያለው ሰው ቀድሞውኑ ኦፕሬተር ነው ወይም የነጋዴ አባል ነው፤ ኦፕሬተሮች የማንም አባል አይደሉም።',
  },
  help: {
    title: 'ተጠቃሚ ይርዱ',
    lead: 'እነዚህ ተግባራት ለማንኛውም ነጋዴ መለያ ሁሉ ይሠራሉ። ከመርዳትዎ በፊት የተጠቃሚውን ማንነት ያረጋግጡ።',
    email: 'የኢሜይል አድራሻ',
    reset: 'አዲስ የይለፍ ቃል ይጠይቁ',
    removeCodes: 'የአንድ ጊዜ ኮድ እንዲወገድ ይጠይቁ',
    disable: 'እንዳይገባ ይከልክሉ',
    enable: 'እንደገና እንዲገባ ይፍቀዱ',
    unknownEmail: 'ይህ የኢሜይል አድራሻ ያለው መለያ የለም። አድራሻውን ያረጋግጡ።',
    disabled: (email) => `${email} እንዳይገባ ተከልክሏል፤ የከፈታቸው ሁሉ ተዘግተዋል።`,
    enabled: (email) => `${email} እንደገና መግባት ይችላል።`,
  },
  reset: {
    title: 'የአዲስ የይለፍ ቃል ሊንክ',
    lead: (email, until) =>
      `ይህን ሊንክ ለ${email} ብቻ ይስጡ። አንድ ጊዜ ብቻ፣ እስከ ${until} ይሠራል፤ ዳግም አይታይም። የአንድ ጊዜ ኮድ እንዳለ ይቆያል።`,
    done: 'አስተላልፌዋለሁ',
  },
  lastOperator: {
    title: 'ይህ መግባት የሚችል የመጨረሻው ኦፕሬተር ነው',
    body: 'መጀመሪያ ሌላ ኦፕሬተር ይጋብዙ።',
  },
  asked: {
    title: 'ሁለተኛ ኦፕሬተር የሚጠብቁ',
    lead: 'እያንዳንዱን ጥያቄ ሁለተኛ ኦፕሬተር መፍቀድ አለበት። ከመፍቀድዎ በፊት ጥያቄው ትክክል መሆኑን ተጠቃሚውን በአካል ይጠይቁ።',
    columns: { who: 'ተጠቃሚ', what: 'ምን', by: 'የጠየቀው', until: 'የሚያበቃው', actions: 'ተግባራት' },
    kinds: { password: 'አዲስ የይለፍ ቃል', codes: 'የአንድ ጊዜ ኮድ ማስወገድ' },
    approve: 'ይፍቀዱ',
    reject: 'ይሰርዙ',
    own: 'ሌላ ኦፕሬተር መፍቀድ አለበት።',
    mailed: (email) => `የአዲስ የይለፍ ቃል ሊንክ ለ${email} በኢሜይል ይላካል።`,
    waits: (email) => `ለ${email} የተጠየቀውን እርዳታ ሌላ ኦፕሬተር በ24 ሰዓት ውስጥ መፍቀድ አለበት።`,
    codesRemoved: (email) => `የ${email} የአንድ ጊዜ ኮድ ተወግዷል፤ የከፈታቸው ሁሉ ተዘግተዋል።`,
    withdrawn: (email) => `ለ${email} የቀረበው ጥያቄ ተሰርዟል።`,
  },
  refusals: {
    SECOND_OPERATOR_NEEDED: {
      title: 'ይህ ሌላ ኦፕሬተር ይፈልጋል',
      body: 'የጠየቀው ኦፕሬተር መፍቀድ አይችልም፤ የራስን መለያም መርዳት አይቻልም።',
    },
    OPERATOR_TOO_NEW: {
      title: 'ኦፕሬተሩ ለዚህ ገና አዲስ ነው',
      body: 'ሁለቱም ቢያንስ ለ24 ሰዓት ኦፕሬተር መሆን አለባቸው።',
    },
    MAILED_TO_USER: {
      title: 'ሊንኩ ለተጠቃሚው በኢሜይል ይላካል',
      body: 'ይህ ጌትዌይ ኢሜይል ስለሚልክ ሊንኩ ለሌላ ሰው አይሰጥም።',
    },
    ACCOUNT_HELP_NOT_FOUND: {
      title: 'ይህ ጥያቄ አሁን የለም',
      body: 'ተፈቅዷል፣ ተሰርዟል፣ ለተጠቃሚው ተልኳል ወይም ጊዜው አልፏል።',
    },
    TOTP_NOT_ENABLED: {
      title: 'ይህ ተጠቃሚ የአንድ ጊዜ ኮድ የለውም',
      body: 'የሚወገድ ነገር የለም።',
    },
  },
};
