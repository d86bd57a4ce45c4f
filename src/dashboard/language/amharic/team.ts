import type { team as english } from '../english/team.ts';

export const team: typeof english = {
  title: 'ቡድን',
  lead: 'ለዚህ ነጋዴ መግባት የሚችሉ ተጠቃሚዎች፣ እና ሚናቸው።',
  columns: { who: 'ተጠቃሚ', role: 'ሚና', state: 'ሁኔታ', lastSignIn: 'መጨረሻ የገባው', actions: 'ተግባራት' },
  you: 'እርስዎ',
  states: { in: 'መግባት ይችላል', out: 'መግባት ተከልክሏል', codes: 'የአንድ ጊዜ ኮድ በርቷል' },
  roleHints: {
    owner: 'ባለቤት፦ ሁሉንም፤ ይህን ገጽ እና የለውጦች መዝገብን ጨምሮ',
    developer: 'ገንቢ፦ ትዕዛዞች፣ ገንዘብ መመለስ፣ የክፍያ ሊንኮች፣ ቁልፎች፣ ዌብሁኮች እና የጥያቄዎች መዝገብ',
    viewer: 'ተመልካች፦ ትዕዛዞችን፣ ተመላሾችን፣ የክፍያ ሊንኮችንና ሪፖርቶችን ያያል፤ ምንም አይቀይርም',
  },
  invite: {
    title: 'ተጠቃሚ ይጋብዙ',
    email: 'የኢሜይል አድራሻ',
    role: 'ሚና',
    submit: 'ይጋብዙ',
    already: 'ይህ አድራሻ ያለው ሰው ቀድሞውኑ እዚህ አለ ወይም ጌትዌዩን ያስተዳድራል።',
    wrongEmail: 'የኢሜይል አድራሻ ያስገቡ፤ ለምሳሌ sara@shop.example።',
    mailed: (email) => `${email} ተጋብዟል፤ ሊንኩ በኢሜይል እየተላከ ነው።`,
  },
  invited: {
    title: 'ገና ተቀባይነት ያላገኙ ግብዣዎች',
    columns: { who: 'ተጠቃሚ', role: 'ሚና', until: 'የሚሠራው እስከ', actions: 'ተግባራት' },
    withdraw: 'ግብዣውን ይሰርዙ',
    withdrawBody: 'ሊንኩ ወዲያውኑ መሥራቱን ያቆማል። እንደገና መጋበዝ ይችላሉ።',
    withdrawn: (email) => `የ${email} ግብዣ ተሰርዟል።`,
  },
  link: {
    title: 'የግብዣው ሊንክ',
    lead: (email, until) =>
      `ይህን ሊንክ ለ${email} ብቻ ይስጡ፤ መጀመሪያ የከፈተው ሰው መግባት ይችላል። አንድ ጊዜ ብቻ፣ እስከ ${until} ይሠራል፤ ዳግም አይታይም።`,
    done: 'አስተላልፌዋለሁ',
    notMailed: {
      title: 'ኢሜይሉ አልተላከም',
      body: 'የኢሜይል አገልጋዩ አልተቀበለውም። ግብዣው ግን ተዘጋጅቷል፤ ሊንኩን እራስዎ ያስተላልፉ። ጌትዌዩን የሚያስተዳድረው ሰው በዚህ ጥያቄ ቁጥር ምክንያቱን ከመዝገቡ ያገኛል።',
    },
  },
  change: {
    open: 'ሚና ይቀይሩ',
    role: 'አዲሱ ሚና',
    submit: 'ሚናው ይቀየር',
    done: (who, role) => `${who}፦ ሚናው አሁን ${role} ነው።`,
    meanwhile: {
      title: 'በዚህ መሀል ሌላ ሰው ቀይሮታል',
      body: 'በእርስዎ በኩል ምንም አልተቀየረም። ዝርዝሩ አሁን ያለበትን ሁኔታ ያሳያል።',
    },
  },
  remove: {
    open: 'ያስወግዱ',
    body: 'ወደዚህ ነጋዴ የመግባት ፈቃዳቸው ወዲያውኑ ያበቃል። መለያቸው እና የሠሩት በመዝገብ ይቆያል።',
    submit: 'ይወገድ',
    done: (who) => `${who} ከእንግዲህ መግባት አይችልም።`,
  },
  lastOwner: {
    title: 'ይህ የመጨረሻው ባለቤት ነው',
    body: 'አንድ ነጋዴ ሁልጊዜ መግባት የሚችል ባለቤት ይኖረዋል። መጀመሪያ ሌላ ሰው ባለቤት ያድርጉ።',
  },
};
